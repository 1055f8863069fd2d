import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'

/** Needs root, or user namespaces. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const canUnshare = Bun.spawnSync([...NAMESPACE, 'true']).exitCode === 0

beforeAll(buildExecutable, 300_000)

test.skipIf(!canUnshare)(
  `a container whose first process is the server survives restarts, refuses an upgrade, and stops with one signal ${fault('31')}`,
  async () => {
    await using homeport = await installExecutable()
    const DATA_DIR = join(homeport.folder, 'data')
    const environment = { DATA_DIR, KEEP_ALIVE_SECONDS: '5', NOTIFY_SOCKET: '/nowhere' }
    const server = await homeport.start(environment, NAMESPACE)
    // Commands enter the namespace, as "docker exec" does.
    const first = await Bun.file(
      `/proc/${server.process.pid}/task/${server.process.pid}/children`,
    ).text()
    const enter = ['nsenter', '-t', first.trim(), '-p', '-m', join(homeport.folder, 'homeport')]
    const restart = () =>
      Bun.spawnSync([...enter, 'restart', '--json'], { env: { ...homeport.environment, DATA_DIR } })
    for (let restarts = 0; restarts < 3; restarts++) {
      const { stdout, stderr } = restart()
      expect(stderr.toString()).toBe('')
      expect(JSON.parse(stdout.toString()).pid).toBeGreaterThan(1)
    }
    const upgrade = Bun.spawnSync([...enter, 'upgrade', 'new', '--unsigned'], {
      env: { ...homeport.environment, DATA_DIR },
    })
    expect([upgrade.exitCode, upgrade.stderr.toString()]).toEqual([
      2,
      expect.stringContaining('docker compose up -d'),
    ])
    // Longer than the replaced processes keep running.
    await Bun.sleep(12_000)
    expect((await fetch(`${server.url}/ready`, { keepalive: false })).status).toBe(200)
    process.kill(Number(first), 'SIGTERM')
    expect(await server.process.exited).toBe(0)
  },
  60_000,
)
