import { startPostgres } from './support/postgres-server.ts'

/** Runs the tests on a PostgreSQL server of their own. What does not apply to it is skipped there and says why. */
await using server = await startPostgres({ synchronous_commit: 'off' })
const words = process.argv.slice(2)
const tests = Bun.spawn([process.execPath, 'test', '--parallel=3', ...words], {
  env: { ...process.env, TEST_DATABASE_URL: server.url },
  stdio: ['ignore', 'inherit', 'inherit'],
})
// The server ends with us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal))
process.exitCode = await tests.exited
