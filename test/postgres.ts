import { readdirSync } from 'node:fs'
import { startPostgres } from './support/postgres-server.ts'

/** Runs the tests on a PostgreSQL server of their own. What does not apply to it is skipped there and says why. */
await using server = await startPostgres({ synchronous_commit: 'off' })
const given = process.argv.slice(2)
const flags = given.filter((word) => word.startsWith('--'))
const words = given.filter((word) => !word.startsWith('--'))
// What two instances do at once has the machine for itself.
const others = readdirSync(import.meta.dir).filter((name) => name !== 'instances')
const slow = [...new Bun.Glob('**/*.slow.ts').scanSync(import.meta.dir)].map(
  (path) => `./test/${path}`,
)
const passes =
  words.length > 0
    ? [words]
    : [[...others.map((name) => `test/${name}`), ...slow], ['test/instances']]
let current: Bun.Subprocess | null = null
// The server ends with us.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => current?.kill(signal))
for (const pass of passes) {
  current = Bun.spawn(
    [
      process.execPath,
      'test',
      `--parallel=${passes.indexOf(pass) === 0 ? 3 : 1}`,
      // Each of three has a third of two cores, and the server wants the rest.
      '--timeout=20000',
      ...flags,
      ...pass,
    ],
    {
      env: { ...process.env, TEST_DATABASE_URL: server.url },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  process.exitCode = await current.exited
  if (process.exitCode !== 0) break
}
