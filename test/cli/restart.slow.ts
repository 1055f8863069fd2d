import { beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { openConnection } from '../support/raw-request.ts'
import { deliver, register } from '../support/requests.ts'
import { restartUnderLoad } from '../support/restarts-under-load.ts'
import { enableSocketMigration } from '../support/socket-migration.ts'
import { deliverSteadily, findLostEvents } from '../support/steady-load.ts'
import { simulateDelay, until } from '../support/until.ts'

/** The advisory lock under which instances migrate. */
const MIGRATION_LOCK = 0x6d696772

beforeAll(buildExecutable, 300_000)

test('a restart under load neither refuses nor loses a request', async () => {
  await using migration = await enableSocketMigration()
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const stopLoad = deliverSteadily(server, 200)
  const pids: number[] = []
  for (let restarts = 0; restarts < 3; restarts++) {
    await simulateDelay(300)
    const { stdout, stderr } = await homeport.run(['restart', '--json'])
    expect(stderr).toBe('')
    pids.push(JSON.parse(stdout).pid)
  }
  await simulateDelay(300)
  const { acknowledged, refused } = await stopLoad()
  if (migration.isOn) expect(refused).toEqual([])
  else expect(refused.length).toBeLessThan(6)
  expect(acknowledged.length).toBeGreaterThan(200)
  expect(new Set([server.process.pid, ...pids]).size).toBe(4)
  expect(await findLostEvents(homeport, acknowledged)).toEqual([])
  // Uses the connection that "start" left open, for which the first process would wait.
  await deliver(server, 'E1')
  process.kill(pids.at(-1) as number, 'SIGTERM')
  expect(await server.process.exited).toBe(0)
}, 60_000)

test('a second restart is refused while the first one runs', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  await rename(file, `${file}.real`)
  await Bun.write(file, `#!/bin/sh\ntouch started\nsleep 2\nexec ${file}.real "$@"\n`)
  await chmod(file, 0o755)
  const restart = () => {
    const command = [`${file}.real`, 'restart', '--json']
    return Bun.spawn(command, { cwd: homeport.folder, env: homeport.environment, stderr: 'pipe' })
  }
  const first = restart()
  await until(() => existsSync(join(homeport.folder, 'started')), 'the restart does not begin')
  const second = restart()
  expect(await second.exited).toBe(1)
  expect(await second.stderr.text()).toContain('A restart is in progress')
  expect(await first.exited).toBe(0)
  const { pid } = JSON.parse(await first.stdout.text())
  expect((await deliver(server, 'E1')).status).toBe(200)
  process.kill(pid, 'SIGTERM')
  expect(await server.process.exited).toBe(0)
}, 30_000)

test('a restart under load loses no request from a client with keep-alive connections', async () => {
  await using _ = await enableSocketMigration()
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const plan = { restarts: 3, rate: 300, pause: 400 }
  const { acknowledged, refused, connections, pid } = await restartUnderLoad(
    homeport,
    server.url,
    plan,
  )
  expect(refused).toEqual([])
  expect(connections).toBeLessThan(acknowledged.length / 2)
  expect(await findLostEvents(homeport, acknowledged)).toEqual([])
  process.kill(pid, 'SIGTERM')
}, 30_000)

test.skipIf(!isOnPostgres)(
  'the running server answers while a restart waits to migrate the database server',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    await using backup = new SQL({ url: homeport.environment['DATABASE_URL'] ?? '', max: 1 })
    await backup`SELECT pg_advisory_lock(${MIGRATION_LOCK})`
    const restarted = homeport.run(['restart', '--json'])
    for (let at = 0; at < 20; at++, await simulateDelay(100)) {
      const signal = AbortSignal.timeout(2_000)
      expect((await fetch(`${server.url}/ready`, { signal, keepalive: false })).status).toBe(200)
    }
    await backup`SELECT pg_advisory_unlock(${MIGRATION_LOCK})`
    const { pid } = JSON.parse((await restarted).stdout)
    expect((await deliver(server, 'E1')).code).toBe('ok')
    process.kill(pid, 'SIGTERM')
  },
  30_000,
)

test('a connection opened before a restart gets one more response, from the new process, and is closed', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS: '60' })
  const { accessToken } = await register(server, 'ann@example.com')
  const requests = {
    metrics: 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n',
    emptyBody: 'POST /api/auth/login/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
    // Large enough to be forwarded in pieces.
    upload: uploadRequest(2 * 2 ** 20, accessToken),
  }
  const idle = await openClient(server.port)
  await idle.ask('GET /ready HTTP/1.1\r\nHost: x\r\n\r\n')
  const before = await Promise.all(Object.values(requests).map(() => openClient(server.port)))
  for (const connection of before) {
    const reply = await connection.ask('GET /ready HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(reply).toStartWith('HTTP/1.1 200')
    expect(reply).not.toContain('Connection: close')
  }
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'])).stdout)
  const replies = await Promise.all(
    Object.values(requests).map(async (text, at) => before[at]?.ask(text)),
  )
  expect(replies.map((reply) => reply?.slice(0, 12))).toEqual([
    // Metrics are still available to local requests.
    'HTTP/1.1 200',
    'HTTP/1.1 415',
    'HTTP/1.1 200',
  ])
  for (const reply of replies) expect(reply).toContain('Connection: close')
  await Promise.all(before.map(({ closed }) => closed))
  // One client is still connected when the server is stopped.
  expect(server.process.exitCode).toBeNull()
  expect(await server.stop()).toBe(0)
  expect(() => process.kill(pid, 0)).toThrow()
}, 30_000)

test('a restart whose new executable cannot start leaves the old server running', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  await rename(file, `${file}.old`)
  await Bun.write(file, '#!/bin/sh\nexit 5\n')
  await chmod(file, 0o755)
  const command = Bun.spawn([`${file}.old`, 'restart'], {
    cwd: homeport.folder,
    env: {},
    stderr: 'pipe',
  })
  expect(await command.exited).toBe(1)
  expect(await command.stderr.text()).toContain('exited with code 5')
  expect((await deliver(server, 'E1')).status).toBe(200)
  await server.stop()
}, 20_000)

test('notifies systemd of its main PID, readiness and watchdog pings, and of the new PID on a restart', async () => {
  await using homeport = await installExecutable()
  // Replaces systemd's own program and accepts the same arguments.
  const messageLog = join(homeport.folder, 'messageLog')
  const program = join(homeport.folder, 'systemd-notify')
  // Its first call fails, as on a machine that is short of processes.
  const failOnce = `[ -e ${messageLog} ] || { touch ${messageLog}; exit 1; }`
  await writeFile(program, `#!/bin/sh\n${failOnce}\necho "$@" >> ${messageLog}\n`, { mode: 0o755 })
  const messages = () =>
    Bun.file(messageLog)
      .text()
      .catch(() => '')
  const server = await homeport.start({
    NOTIFY_SOCKET: '/run/none',
    WATCHDOG_USEC: '400000',
    PATH: `${homeport.folder}:/usr/bin:/bin`,
  })
  const waitForMessage = (text: string) =>
    until(async () => (await messages()).includes(text), `systemd is not sent ${text}`)
  await waitForMessage(`MAINPID=${server.process.pid} READY=1`)
  await waitForMessage('WATCHDOG=1')
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'])).stdout)
  await waitForMessage(`MAINPID=${pid} READY=1`)
  expect(await messages()).not.toContain('STOPPING=1')
  process.kill(pid, 'SIGTERM')
  await waitForMessage('STOPPING=1')
}, 20_000)

test.skipIf(Bun.which('systemd-analyze') === null)(
  'systemd accepts the service unit and rates its exposure as low',
  async () => {
    await using homeport = await installExecutable()
    const { stdout } = await homeport.run(['service', 'install', '--print'])
    const unit = join(homeport.folder, 'homeport.service')
    await Bun.write(unit, stdout)
    const { exitCode } =
      await Bun.$`systemd-analyze security --offline=true --threshold=30 ${unit}`.quiet()
    expect(exitCode).toBe(0)
  },
)

/** A keep-alive connection that sends raw requests one after another. */
async function openClient(port: number) {
  const { socket, closed, received, write } = await openConnection(port)
  return { ask, closed }

  async function ask(text: string): Promise<string> {
    const before = received().length
    const reply = () => received().slice(before)
    write(text)
    await until(() => socket.closed || reply().includes('\r\n\r\n'), 'no reply')
    return reply()
  }
}

function uploadRequest(bytes: number, token: string): string {
  const file = `Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain`
  const body = `--b\r\n${file}\r\n\r\n${'line of text\n'.repeat(bytes / 13)}\r\n--b--\r\n`
  return [
    'POST /api/user/attachments/v1?type=supportTicket HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Content-Type: multipart/form-data; boundary=b',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
}
