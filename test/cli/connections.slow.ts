import { beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { simulateDelay, until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

const HEAD = 'GET /health HTTP/1.1\r\nHost: x\r\n'

test.each([
  ['keep their connection open', `${HEAD}\r\n`],
  ['never end their request', HEAD],
])(
  'answers other clients within a second when 500 clients that %s use up the file descriptors',
  async (_what, text) => {
    await using homeport = await installExecutable()
    const server = await homeport.start({}, ['prlimit', '--nofile=160:160'])
    const other = openClient(server.port, `${HEAD}\r\n`, '127.0.0.2')
    await until(() => other.readyState === 'open', 'the first client cannot connect')
    const clients = Array.from({ length: 500 }, () => openClient(server.port, text))
    for (let times = 0; times < 4; times++) {
      await simulateDelay(250)
      const started = performance.now()
      expect(await statusOf(server)).toBe(200)
      expect(performance.now() - started).toBeLessThan(1_000)
    }
    await homeport.waitForLogLine('too many connections')
    const before = await cpuMs(server)
    await simulateDelay(1_000)
    expect((await cpuMs(server)) - before).toBeLessThan(500)
    // Only connections from the address with too many are closed, even though `other` was idle longer.
    expect(other.readyState).toBe('open')
    other.destroy()
    for (const client of clients) client.destroy()
    expect(await statusOf(server)).toBe(200)
    expect(await server.stop()).toBe(0)
  },
  30_000,
)

function openClient(port: number, text: string, localAddress = '127.0.0.1'): Socket {
  const client = connect({ port, host: '127.0.0.1', localAddress }, () => client.write(text))
  client.on('error', () => {})
  return client.resume()
}

function statusOf({ url }: Server): Promise<number> {
  const options = { keepalive: false, signal: AbortSignal.timeout(5_000) }
  return fetch(`${url}/health`, options).then(
    ({ status }) => status,
    () => 0,
  )
}

/** The CPU time that a process has used, in ms. */
async function cpuMs({ process }: Server): Promise<number> {
  const fields = (await Bun.file(`/proc/${process.pid}/stat`).text()).split(') ')[1]?.split(' ')
  return (Number(fields?.[11]) + Number(fields?.[12])) * 10
}
