import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { deliver } from '../support/requests.ts'

beforeAll(buildExecutable, 300_000)

const SECRET_KEY = 'a key of more than thirty-two characters'

test.each(['stopped', 'frozen'] as const)(
  'recovers from a failed restart while the PostgreSQL server is %s',
  async (state) => {
    await using database = await startPostgres()
    await using homeport = await installExecutable()
    const environment = { DATABASE_URL: database.url, SECRET_KEY }
    const server = await homeport.start(environment)
    await (state === 'stopped' ? database.stop('SIGQUIT') : database.signalAll('SIGSTOP'))
    const { exitCode, stderr } = await homeport.run(['restart'], environment)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('keeps serving')])
    await waitForReadyStatus(503, server.url)
    const status = await homeport.run(['status'], environment)
    expect([status.exitCode, status.stderr]).toEqual([1, ''])
    for (const text of ['NOT READY since', 'database failing', `${database.url} does not respond`])
      expect(status.stdout).toContain(text)
    const { stderr: userListError } = await homeport.run(['user', 'list'], environment)
    expect(userListError).toContain('The database is unavailable')
    await (state === 'stopped' ? database.start() : database.signalAll('SIGCONT'))
    await waitForReadyStatus(200, server.url)
    expect((await deliver(server, 'E1')).code).toBe('ok')
    expect(await server.stop()).toBe(0)
  },
  60_000,
)

test('startup waits for a PostgreSQL server that is not running yet', async () => {
  await using database = await startPostgres()
  await using homeport = await installExecutable()
  await database.stop('SIGQUIT')
  const starting = homeport.start({ DATABASE_URL: database.url, SECRET_KEY })
  starting.catch(() => {})
  await homeport.waitForLogLine('Waiting for it', 10_000).catch(() => {})
  await database.start()
  const server = await starting
  const log = await Bun.file(`${homeport.folder}/log`).text()
  expect(log.split('Waiting for it')).toHaveLength(2)
  expect(await server.stop()).toBe(0)
}, 60_000)

async function waitForReadyStatus(status: number, url: string) {
  for (let tries = 0; tries < 100; tries++) {
    const reply = await fetch(`${url}/ready`).catch(() => null)
    if (reply?.status === status) return
    await Bun.sleep(100)
  }
  throw new Error(`/ready did not return ${status}`)
}
