import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { askSocket, loadSocket, untilAnswering } from '../support/socket-load.ts'

beforeAll(buildExecutable, 60_000)

test('restarts on a socket lose no request, and another server cannot take its path', async () => {
  await using homeport = await installExecutable()
  const path = join(homeport.folder, 'x.sock')
  const executable = join(homeport.folder, 'homeport')
  const environment = { ...homeport.environment, HOST: `unix:${path}`, KEEP_ALIVE_SECONDS: '5' }
  const spawn = (command: string[], changed = {}) =>
    Bun.spawn([executable, ...command], {
      cwd: homeport.folder,
      env: { ...environment, ...changed },
      stdout: 'pipe',
      stderr: 'pipe',
    })
  const server = spawn(['serve'])
  await untilAnswering(path)
  let newest = server.pid
  const stopLoad = loadSocket(path)
  for (let restarts = 0; restarts < 3; restarts++) {
    const restart = spawn(['restart', '--json'])
    expect([await restart.exited, await restart.stderr.text()]).toEqual([0, ''])
    newest = JSON.parse(await restart.stdout.text()).pid
  }
  const { answered, refused } = await stopLoad()
  expect(refused).toEqual([])
  expect(answered).toBeGreaterThan(100)
  const other = spawn(['serve'], { DATA_DIR: join(homeport.folder, 'other') })
  expect(await other.exited).not.toBe(0)
  expect(await other.stderr.text()).toContain('is in use by another server')
  expect((await askSocket(path)).status).toBe(200)
  process.kill(newest, 'SIGTERM')
  expect(await server.exited).toBe(0)
}, 120_000)
