import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import seed from '../../data/seed/rates.json'
import { freePort, installExecutable, type Server } from '../support/executable.ts'
import { FAKETIME, fakeClock } from '../support/fake-clock.ts'
import { ecbXml, startFeed } from '../support/feed.ts'
import { startPostgres } from '../support/postgres-server.ts'

export type Engine = 'sqlite' | 'postgres'
export type World = Awaited<ReturnType<typeof openWorld>>

const DISK_SIZE = '4G'
const MB = 1024 * 1024

/** The executable with its own disk, database and rates provider, each of which can be made to fail. */
export async function openWorld(engine: Engine) {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(process.env['TMPDIR'] ?? '/var/tmp', 'homeport-soak-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const disk = await mountDisk(folder)
  opening.defer(() => void Bun.spawnSync(['umount', disk.path]))
  const postgres =
    engine === 'postgres'
      ? opening.use(await startPostgres({ fsync: 'on', full_page_writes: 'on' }))
      : null
  const rates = { isDown: false }
  const feed = opening.use(
    startFeed(() =>
      rates.isDown
        ? new Response('', { status: 503 })
        : new Response(ecbXml(new Date().toISOString().slice(0, 10), seed.rates)),
    ),
  )
  const homeport = opening.use(await installExecutable())
  const clock = FAKETIME ? fakeClock(folder) : null
  const dataDir = join(disk.path, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  const logFile = join(folder, 'server.log')
  const environment = {
    ...clock?.environment,
    PORT: String(freePort()),
    DATA_DIR: dataDir,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'warn',
    LOG_FILE: logFile,
    RATES_PROVIDER: 'ecb',
    RATES_URL: feed.url,
    MIN_FREE_BYTES: String(16 * MB),
    WEBHOOKS_ALLOW_PRIVATE: 'on',
    ...(postgres
      ? { DATABASE_URL: postgres.url, SECRET_KEY: 'the secret key of this soak only' }
      : {}),
  }
  let server: Server = await homeport.start(environment)
  const stack = opening.move()
  return {
    engine,
    url: server.url,
    folder,
    dataDir,
    disk: disk.isMounted ? disk.path : null,
    postgres,
    rates,
    clock,
    start,
    stop,
    pid: () => server.process.pid,
    run: (args: string[], input?: string) => homeport.run(args, environment, input),
    query,
    lock,
    storedFiles,
    countLoggedErrors,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }

  async function start() {
    server = await homeport.start(environment)
  }

  /** Resolves to the exit code. */
  function stop(signal: NodeJS.Signals): Promise<number> {
    return server.stop(signal)
  }

  async function query(statement: string): Promise<unknown[][]> {
    if (postgres) return (await postgres.query(statement)).map((row) => Object.values(row))
    using client = new Database(join(dataDir, 'homeport.db'))
    return client.query(statement).values() as unknown[][]
  }

  /** Holds the write lock for `ms`, as another program might. */
  async function lock(ms: number) {
    if (postgres) {
      await using sql = new SQL({ url: postgres.url, max: 1 })
      await sql.begin(async (tx) => {
        await tx.unsafe('LOCK TABLE users, billing_events, attachments IN EXCLUSIVE MODE')
        await Bun.sleep(ms)
      })
      return
    }
    using client = new Database(join(dataDir, 'homeport.db'))
    client.run('PRAGMA busy_timeout = 5000')
    client.run('BEGIN IMMEDIATE')
    await Bun.sleep(ms)
    client.run('ROLLBACK')
  }

  /** The keys of all attachments on disk. */
  async function storedFiles(): Promise<string[]> {
    const entries = await readdir(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('variants'))
      .map(({ name }) => name)
  }

  /** Counts of the server's logged errors, by cause. */
  async function countLoggedErrors(): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    for (const name of await readdir(folder)) {
      if (!name.startsWith('server.log')) continue
      for (const line of (await Bun.file(join(folder, name)).text()).split('\n')) {
        if (!line.includes('"level":"error"')) continue
        const { msg, err } = JSON.parse(line)
        const cause = `${msg}: ${err?.cause?.message ?? err?.message ?? ''}`
        counts.set(cause, (counts.get(cause) ?? 0) + 1)
      }
    }
    return counts
  }
}

/** A file system in a file, so that it can be filled; a plain directory if none can be mounted. */
async function mountDisk(folder: string) {
  const [image, path] = [join(folder, 'disk.img'), join(folder, 'disk')]
  await mkdir(path)
  const mounted =
    await Bun.$`truncate -s ${DISK_SIZE} ${image} && mkfs.ext4 -q -m 0 ${image} && mount -o loop ${image} ${path}`
      .quiet()
      .nothrow()
  return { path, isMounted: mounted.exitCode === 0 && existsSync(path) }
}
