import { startPostgres } from './support/postgres-server.ts'

/** Runs the tests on a temporary PostgreSQL server. Tests that do not apply to PostgreSQL are skipped with a reason. */
await using server = await startPostgres({ synchronous_commit: 'off' })
const args = process.argv.slice(2)
const flags = args.filter((word) => word.startsWith('--'))
const requested = args.filter((word) => !word.startsWith('--'))
/** Tests that use no database, or only through routes that other tests call. */
const LEFT_OUT = [
  /^(apps|bench|client|console|fault|lib|platform\/http|soak)\//,
  /^(architecture|config|exports)\.test/,
  /^upgrade\/released-client/,
  /^cli\/(acme-limits|backup-target|backup-trust|client-command|command-line|release|release-list|tls)\.slow/,
  /^cli\/(connections|proxy-socket|refused-bodies|suspended-clients|trailers)\./,
  /^features\/attachments\/(compressed-images|heic|heic-images|png-colours|s3-files)\./,
  /^features\/attachments\/(compression|variants)\.slow/,
  /^platform\/limits\/password-queue\.slow/,
]
const files = [...new Bun.Glob('**/*.{test,slow}.ts').scanSync(import.meta.dir)]
  .filter((path) => !LEFT_OUT.some((pattern) => pattern.test(path)))
  .toSorted()
const pathsOf = (which: (path: string) => boolean) =>
  files.filter(which).map((path) => `./test/${path}`)
const isSlow = (path: string) => path.endsWith('.slow.ts')
const runsAlone = (path: string) => path.startsWith('instances/')
const everything = [
  { paths: pathsOf((path) => !isSlow(path) && !runsAlone(path)), parallel: 3 },
  // The slow tests start executables, which need the cores too.
  { paths: pathsOf(isSlow), parallel: 2 },
  { paths: pathsOf(runsAlone), parallel: 1 },
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
      // Isolated files would load every module again, which takes a quarter of the time.
      '--no-isolate',
      // Three test processes and the server share two cores.
      '--timeout=60000',
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
