import { startPostgres } from './support/postgres-server.ts'

/**
 * Runs the tests on a PostgreSQL server of its own. What does not apply to PostgreSQL is skipped there and says why.
 */
// What tests show does not depend on a disk.
const server = await startPostgres({ synchronous_commit: 'off' })
const words = process.argv.slice(2)
const tests = Bun.spawn([process.execPath, 'test', '--parallel=3', ...words], {
  env: { ...process.env, TEST_DATABASE_URL: server.url },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const exitCode = await tests.exited
await server[Symbol.asyncDispose]()
process.exit(exitCode)
