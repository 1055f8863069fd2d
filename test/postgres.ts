import { readdirSync } from 'node:fs'
import { startPostgres } from './support/postgres-server.ts'

/** Runs the tests on a temporary PostgreSQL server. Tests that do not apply to PostgreSQL are skipped with a reason. */
await using server = await startPostgres({ synchronous_commit: 'off' })
const args = process.argv.slice(2)
const flags = args.filter((word) => word.startsWith('--'))
const requested = args.filter((word) => !word.startsWith('--'))
/** They use no database, or only by routes that other tests call. The tests in `instances` run alone. */
const LEFT_OUT = /^(apps|bench|client|instances|lib|soak|upgrade\/released-client)/
const others = readdirSync(import.meta.dir).filter((name) => !LEFT_OUT.test(name))
const slow = [...new Bun.Glob('**/*.slow.ts').scanSync(import.meta.dir)]
  .filter((path) => !LEFT_OUT.test(path))
  .map((path) => `./test/${path}`)
const everything = [
  { paths: others.map((name) => `test/${name}`), parallel: 3 },
  // The slow tests start executables, which need the cores too.
  { paths: slow, parallel: 2 },
  { paths: ['test/instances'], parallel: 1 },
]
const passes = requested.length > 0 ? [{ paths: requested, parallel: 3 }] : everything
let current: Bun.Subprocess | null = null
// Stop the running tests, so that the server is stopped too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => current?.kill(signal))
for (const { paths, parallel } of passes) {
  current = Bun.spawn(
    [
      process.execPath,
      'test',
      `--parallel=${parallel}`,
      // Three test processes and the server share two cores.
      '--timeout=20000',
      ...flags,
      ...paths,
    ],
    {
      env: { ...process.env, TEST_DATABASE_URL: server.url },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  process.exitCode = await current.exited
  if (process.exitCode !== 0) break
}
