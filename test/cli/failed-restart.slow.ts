import { beforeAll, expect, test } from 'bun:test'
import { chmod, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { restartServer } from '../../src/cli/service/restart.ts'
import { readConfig } from '../../src/config/config.ts'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { deliver } from '../support/requests.ts'
import { until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

const SECRET_KEY = 'a key of more than thirty-two characters'

test('a restart whose new process cannot open the database leaves the old server running', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const environment = { DATABASE_URL: 'postgres://127.0.0.1:1/homeport', SECRET_KEY }
  const { exitCode, stderr } = await restartWith(homeport, environment)
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining(`The old one (process ${server.process.pid}) keeps serving`),
  ])
  expect((await deliver(server, 'E1')).status).toBe(200)
  expect(await Bun.file(join(homeport.folder, 'log')).text()).not.toContain('stopping')
  expect(await server.stop()).toBe(0)
}, 30_000)

test('a process whose successor fails after the handover resumes serving', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { pid } = server.process
  await deliver(server, 'E1')
  using occupied = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  // The console's port is opened only after the database.
  const environment = { CONSOLE: 'on', CONSOLE_PORT: String(occupied.port) }
  for (const id of ['E2', 'E3']) {
    const { exitCode, stderr } = await restartWith(homeport, environment)
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining(`The old one (process ${pid}) is serving again`),
    ])
    expect((await deliver(server, id)).code).toBe('ok')
  }
  await rename(join(homeport.folder, 'homeport.old'), join(homeport.folder, 'homeport'))
  const { stdout } = await homeport.run(['restart', '--json'])
  const next = JSON.parse(stdout).pid
  expect(next).not.toBe(pid)
  for (const id of ['E1', 'E2', 'E3']) expect((await deliver(server, id)).code).toBe('duplicate')
  process.kill(next, 'SIGTERM')
  expect(await server.process.exited).toBe(0)
}, 30_000)

test.skipIf(!isOnPostgres)(
  'a process resumes serving after its successor has migrated the database server',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    const { folder } = homeport
    const [file, handedOver, migrated] = ['homeport', 'handed-over', 'migrated'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    await rename(file, `${file}.old`)
    const script = `#!/bin/sh
curl -s --unix-socket data/homeport.sock -d '{"pid":'$$'}' http://localhost/server%20hand-over
touch ${handedOver}
for wait in $(seq 500); do [ -e ${migrated} ] || sleep 0.02; done
exit 7`
    await Bun.write(file, script)
    await chmod(file, 0o755)
    const restarting = Bun.spawn([`${file}.old`, 'restart'], {
      cwd: folder,
      env: homeport.environment,
      stderr: 'ignore',
    })
    await until(() => Bun.file(handedOver).exists(), 'the restart does not begin')
    await using sql = new SQL({ url: homeport.environment['DATABASE_URL'] ?? '', max: 1 })
    await sql`UPDATE homeport SET version = version + 1`
    await Bun.write(migrated, '')
    expect(await restarting.exited).toBe(1)
    expect((await deliver(server, 'E1')).code).toBe('ok')
    await server.stop()
  },
  30_000,
)

test('a restart with a file that is not a program fails, and the old process keeps serving', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  await rename(file, `${file}.old`)
  await Bun.write(file, 'garbage')
  await chmod(file, 0o755)
  const command = Bun.spawn([`${file}.old`, 'restart'], {
    cwd: homeport.folder,
    env: homeport.environment,
    stderr: 'pipe',
  })
  expect([await command.exited, await command.stderr.text()]).toEqual([
    1,
    expect.stringContaining(`The old one (process ${server.process.pid}) keeps serving`),
  ])
  expect(await server.stop()).toBe(0)
}, 30_000)

test('an upgrade kills a new process that is not serving in time, and the old one keeps serving', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  await rename(file, `${file}.old`)
  const takeOver = `curl -s --unix-socket data/homeport.sock -d '{"pid":'$$'}' http://localhost/server%20hand-over`
  await Bun.write(file, `#!/bin/sh\n${takeOver}\nexec sleep 60\n`)
  await chmod(file, 0o755)
  const environment = { ...homeport.environment, DATA_DIR: join(homeport.folder, 'data') }
  const restarted = restartServer(readConfig({}, environment), 1_000)
  await expect(restarted).rejects.toThrow(`process ${server.process.pid}) is serving again`)
  expect((await deliver(server, 'E1')).status).toBe(200)
  expect(await server.stop()).toBe(0)
}, 30_000)

test('a failed start logs the reason', async () => {
  await using homeport = await installExecutable()
  using occupied = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { process } = await homeport.launch({ PORT: String(occupied.port) })
  expect(await process.exited).toBe(1)
  const line = (await Bun.file(join(homeport.folder, 'log')).text()).trim().split('\n').at(-1)
  expect(JSON.parse(line ?? '')).toMatchObject({
    level: 'fatal',
    reason: expect.stringContaining(`Port ${occupied.port} is in use`),
  })
}, 30_000)

/** Restarts with a script that runs the same program with other environment variables. */
async function restartWith(
  { folder, environment }: Awaited<ReturnType<typeof installExecutable>>,
  variables: Record<string, string>,
) {
  const file = join(folder, 'homeport')
  if (!(await Bun.file(`${file}.old`).exists())) await rename(file, `${file}.old`)
  const exportLines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`)
  await Bun.write(file, ['#!/bin/sh', ...exportLines, `exec ${file}.old "$@"`, ''].join('\n'))
  await chmod(file, 0o755)
  const command = Bun.spawn([`${file}.old`, 'restart'], {
    cwd: folder,
    env: environment,
    stdout: 'ignore',
    stderr: 'pipe',
  })
  return { exitCode: await command.exited, stderr: await command.stderr.text() }
}
