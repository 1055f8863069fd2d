import { beforeAll, expect, test } from 'bun:test'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { deliver } from '../support/requests.ts'
import { migrateSockets } from '../support/socket-migration.ts'
import { deliverSteadily } from '../support/steady-load.ts'

beforeAll(buildExecutable, 60_000)

test('a restart under load refuses no request and loses none', async () => {
  await using migration = await migrateSockets()
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const stopLoad = deliverSteadily(server, 500)
  const pids: number[] = []
  for (let restarts = 0; restarts < 3; restarts++) {
    await Bun.sleep(300)
    const { stdout, stderr } = await homeport.run(['restart', '--json'])
    expect(stderr).toBe('')
    pids.push(JSON.parse(stdout).pid)
  }
  await Bun.sleep(300)
  const { acknowledged, refused } = await stopLoad()
  if (migration.isOn) expect(refused).toEqual([])
  else expect(refused.length).toBeLessThan(6)
  expect(acknowledged.length).toBeGreaterThan(200)
  expect(new Set([server.process.pid, ...pids]).size).toBe(4)
  for (const id of acknowledged) expect((await deliver(server, id)).code).toBe('duplicate')
  process.kill(pids.at(-1) as number, 'SIGTERM')
  expect(await server.process.exited).toBe(0)
}, 30_000)

test('a restart to a file that cannot start leaves the server as it is', async () => {
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
  expect(await command.stderr.text()).toContain('exit code 5')
  expect((await deliver(server, 'E1')).status).toBe(200)
  await server.stop()
}, 20_000)

test('systemd is told who serves, that it is ready and that it lives; a restart tells the next one', async () => {
  await using homeport = await installExecutable()
  // In the place of systemd's own, which takes the same words.
  const told = join(homeport.folder, 'told')
  const program = join(homeport.folder, 'systemd-notify')
  await writeFile(program, `#!/bin/sh\necho "$@" >> ${told}\n`, { mode: 0o755 })
  const messages = () =>
    Bun.file(told)
      .text()
      .catch(() => '')
  const server = await homeport.start({
    NOTIFY_SOCKET: '/run/none',
    WATCHDOG_USEC: '400000',
    PATH: `${homeport.folder}:/usr/bin:/bin`,
  })
  const until = async (text: string) => {
    for (let tries = 0; tries < 200 && !(await messages()).includes(text); tries++)
      await Bun.sleep(20)
    expect(await messages()).toContain(text)
  }
  await until(`MAINPID=${server.process.pid} READY=1`)
  await until('WATCHDOG=1')
  const { pid } = JSON.parse((await homeport.run(['restart', '--json'])).stdout)
  await until(`MAINPID=${pid} READY=1`)
  expect(await messages()).not.toContain('STOPPING=1')
  process.kill(pid, 'SIGTERM')
  await until('STOPPING=1')
}, 20_000)

test.skipIf(Bun.which('systemd-analyze') === null)(
  'the unit of the service is understood by systemd, and exposed little',
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
