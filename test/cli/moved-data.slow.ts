import { beforeAll, expect } from 'bun:test'
import { copyFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver } from '../support/requests.ts'
import { until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

onSqlite('a database server has its own files').each([
  ['removed', (path: string) => rm(path)],
  [
    'replaced',
    async (path: string) => {
      await copyFile(path, `${path}.new`)
      await rename(`${path}.new`, path)
    },
  ],
] as const)(
  `a server whose database is %s reports it within seconds, and saves its data when it stops ${fault('11a')}`,
  async (_, act) => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    expect((await deliver(server, 'E1')).status).toBe(200)
    const data = join(homeport.folder, 'data')
    const database = join(data, 'homeport.db')
    await act(database)
    await homeport.waitForLogLine('while the server uses it', 10_000)
    expect((await deliver(server, 'E2')).status).toBe(503)
    const isReady = async () => (await fetch(`${server.url}/ready`)).ok
    await until(async () => !(await isReady()), 'the server stays ready')
    const { stdout } = await homeport.run(['doctor'])
    expect(stdout).toMatch(/✗ server .*homeport\.db was (moved or removed|replaced)/)
    expect(await server.stop()).toBe(0)
    const saved = (await readdir(data)).find((name) => name.startsWith('homeport.db.saved-')) ?? ''
    for (const suffix of ['', '-wal', '-shm']) await rm(database + suffix, { force: true })
    expect((await homeport.run(['init'])).stderr).toContain(`rename ${saved} to homeport.db`)
    await rename(join(data, saved), database)
    const next = await homeport.start()
    const listed = () => homeport.run(['events', 'list', '--json'])
    await until(async () => (await listed()).stdout.includes('E1'), 'the saved event is missing')
    expect(await next.stop()).toBe(0)
  },
  60_000,
)
