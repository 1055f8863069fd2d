import { beforeAll, expect, test } from 'bun:test'
import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

const KEEP_ALIVE_SECONDS = '5'

test(`without systemd, the first process stays until the newest server ends ${fault('31')}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS })
  const pids = await restartTwice(homeport)
  // The process in between has ended, but the service manager follows the first one.
  await until(() => !isAlive(pids[0]), 'a replaced process stays', { deadlineMs: 20_000 })
  expect(server.process.exitCode).toBeNull()
  expect(await isReady(server)).toBe(true)
  expect(await server.stop()).toBe(0)
  expect(isAlive(pids[1])).toBe(false)
}, 60_000)

test('the first process ends with the exit code of the newest server', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS })
  const pids = await restartTwice(homeport)
  // Until that process has ended, it would resume serving.
  await until(() => !isAlive(pids[0]), 'a replaced process stays', { deadlineMs: 20_000 })
  process.kill(pids[1], 'SIGKILL')
  expect(await server.process.exited).toBe(137)
}, 60_000)

test('a server whose first process was killed stops, and frees the data', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS })
  const pids = await restartTwice(homeport)
  server.process.kill('SIGKILL')
  await until(() => !isAlive(pids[1]), 'the server keeps running without its first process')
  const next = await homeport.start()
  expect(await next.stop()).toBe(0)
}, 60_000)

test('a failed second restart leaves the old server running', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ KEEP_ALIVE_SECONDS })
  const file = join(homeport.folder, 'homeport')
  const { exitCode } = await homeport.run(['restart'])
  expect(exitCode).toBe(0)
  await rename(file, `${file}.old`)
  await writeFile(file, '#!/bin/sh\nexit 7\n')
  await chmod(file, 0o755)
  const command = Bun.spawn([`${file}.old`, 'restart'], {
    cwd: homeport.folder,
    env: homeport.environment,
    stderr: 'pipe',
  })
  expect(await command.exited).toBe(1)
  expect(await command.stderr.text()).toContain('exited with code 7')
  expect(await isReady(server)).toBe(true)
  expect(await server.stop()).toBe(0)
}, 60_000)

async function restartTwice(homeport: Awaited<ReturnType<typeof installExecutable>>) {
  const pids: [number, number] = [0, 0]
  for (const at of pids.keys()) {
    const { stdout, stderr } = await homeport.run(['restart', '--json'])
    expect(stderr).toBe('')
    pids[at] = JSON.parse(stdout).pid
  }
  return pids
}

async function isReady({ url }: Server): Promise<boolean> {
  return (await fetch(`${url}/ready`, { keepalive: false })).ok
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
