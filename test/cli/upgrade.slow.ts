import { afterEach, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../src/lib/crypto/hash.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable, RELEASE_KEY } from '../support/executable.ts'
import { startReleaseServer } from '../support/release-server.ts'
import { deliver } from '../support/requests.ts'
import { enableSocketMigration } from '../support/socket-migration.ts'
import { deliverSteadily, findLostEvents } from '../support/steady-load.ts'
import { until } from '../support/until.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>

beforeAll(buildExecutable, 300_000)

const started: number[] = []
afterEach(() => {
  for (const pid of started.splice(0)) Bun.spawnSync(['kill', '-9', String(pid)])
})

test('an upgrade from a URL is verified by its signature and takes over under load; the old file is kept', async () => {
  await using migration = await enableSocketMigration()
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  await using releases = await startReleaseServer()
  // One more byte, so that the file differs.
  const bytes = Buffer.concat([await readFile(file), Buffer.from(' ')])
  await Bun.write(join(releases.folder, 'homeport-9'), bytes)
  const { stdout: versionOutput } = await homeport.run(['version', '--json'])
  await releases.publish(JSON.parse(versionOutput), await Bun.file(RELEASE_KEY).text())
  const stopLoad = deliverSteadily(server, 200)
  const { stdout, stderr } = await homeport.run(
    ['upgrade', `${releases.url}/homeport-9`, '--json'],
    { NODE_EXTRA_CA_CERTS: releases.authority },
  )
  expect([stderr, JSON.parse(stdout).previous]).toEqual(['', `${file}.previous`])
  started.push(await servingPid(homeport))
  expect(started).not.toContain(server.process.pid)
  const { acknowledged, refused } = await stopLoad()
  if (migration.isOn) expect(refused).toEqual([])
  else expect(refused.length).toBeLessThan(3)
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(await findLostEvents(homeport, acknowledged)).toEqual([])
}, 60_000)

onSqlite('on PostgreSQL only the new version itself checks it, at startup')(
  'refuses an unsuitable version and changes nothing',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const file = join(homeport.folder, 'homeport')
    const { stdout: versionOutput } = await homeport.run(['version'])
    const before = sha256(await readFile(file), 'hex')
    const wrong = { garbage: 'x', older: script('{"version":"0.0.9","schemaVersion":1}', 'exit 1') }
    for (const [name, content] of Object.entries(wrong))
      await Bun.write(join(homeport.folder, name), content)
    for (const [args, reason] of [
      [['homeport', '--unsigned'], versionOutput.trim()],
      [['garbage', '--unsigned'], 'not a homeport executable for this machine'],
      [['older', '--unsigned'], 'add --allow-downgrade'],
      [['older', '--unsigned', '--allow-downgrade'], 'older than the data'],
      [['older', '--unsigned', '--sha256', 'a'.repeat(64)], 'does not match the expected one'],
      [['missing', '--unsigned'], 'cannot be read'],
      [['.', '--unsigned'], 'is not a file'],
      [['https://127.0.0.1:1/homeport'], 'cannot be fetched'],
    ] as const) {
      const { exitCode, stderr } = await homeport.run(['upgrade', ...args])
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)])
    }
    expect(sha256(await readFile(file), 'hex')).toBe(before)
  },
  30_000,
)

test('a version that cannot start is rolled back while the old one keeps serving', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const file = join(homeport.folder, 'homeport')
  const before = sha256(await readFile(file), 'hex')
  await Bun.write(
    join(homeport.folder, 'bad'),
    script('{"version":"9.0.0","schemaVersion":99}', 'exit 5'),
  )
  await Bun.write(`${file}.previous`, 'the version before')
  const { exitCode, stderr } = await homeport.run(['upgrade', 'bad', '--unsigned'])
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('keeps serving')])
  expect(sha256(await readFile(file), 'hex')).toBe(before)
  expect(await Bun.file(`${file}.previous`).text()).toBe('the version before')
  expect((await deliver(server, 'E1')).status).toBe(200)
  await server.stop()
}, 30_000)

test('an upgrade whose terminal closes is still rolled back', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const { folder, environment: env } = homeport
  const file = join(folder, 'homeport')
  const before = sha256(await readFile(file), 'hex')
  const serve =
    'touch started; while [ -e started ] && [ ! -e signalled ]; do sleep 0.05; done; exit 5'
  await Bun.write(join(folder, 'bad'), script('{"version":"9.0.0","schemaVersion":99}', serve))
  const command = [file, 'upgrade', 'bad', '--unsigned']
  const upgrade = Bun.spawn(command, { cwd: folder, env, stderr: 'pipe' })
  await until(() => existsSync(join(folder, 'started')), 'the new version is not started')
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) upgrade.kill(signal)
  await Bun.write(join(folder, 'signalled'), '')
  expect(await upgrade.exited).toBe(1)
  expect(await upgrade.stderr.text()).toContain('keeps serving')
  expect(sha256(await readFile(file), 'hex')).toBe(before)
  await server.stop()
}, 30_000)

onSqlite('the snapshot is a file')(
  'a version that takes over, migrates and crashes is rolled back together with its data',
  async () => {
    await using homeport = await installExecutable()
    const dataDir = join(homeport.folder, 'data')
    const server = await homeport.start()
    await deliver(server, 'E1')
    // Waits for the old server to close the database, creates a migration's snapshot, overwrites the
    // database, and crashes.
    const crashingServe = `curl -s --unix-socket data/homeport.sock -d null http://localhost/server%20hand-over
for wait in $(seq 100); do [ -s data/homeport.db-wal ] && sleep 0.02; done
mkdir -p data/snapshots
./homeport.previous copy-database data/homeport.db data/snapshots/before-migration-99-$(date +%s%3N).db
printf 'broken' > data/homeport.db
exit 7`
    await Bun.write(
      join(homeport.folder, 'bad'),
      script('{"version":"9.0.0","schemaVersion":99}', crashingServe),
    )
    const { exitCode, stderr } = await homeport.run(['upgrade', 'bad', '--unsigned'], {
      PATH: '/usr/bin:/bin',
    })
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('The data that the new version migrated is in'),
    ])
    await server.stop()
    const again = await homeport.start()
    expect((await deliver(again, 'E1')).code).toBe('duplicate')
    await again.stop()
    expect(await Bun.file(join(dataDir, 'homeport.db')).exists()).toBe(true)
  },
  30_000,
)

test('prints no credentials from a URL that cannot be fetched', async () => {
  await using homeport = await installExecutable()
  for (const scheme of ['http', 'https']) {
    const url = `${scheme}://ann:s3cr3t@127.0.0.1:1/homeport-9?signature=s3cr3t`
    const { exitCode, stderr } = await homeport.run(['upgrade', url])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('127.0.0.1:1/')])
    expect(stderr).not.toContain('s3c')
  }
}, 30_000)

/** A program that prints a version and runs `serve` for any other command. */
function script(versionOutput: string, serve: string): string {
  return `#!/bin/sh\nif [ "$1" = version ]; then echo '${versionOutput}'; exit 0; fi\n${serve}\n`
}

async function servingPid({ folder }: Homeport): Promise<number> {
  const unix = join(folder, 'data', 'homeport.sock')
  const reply = await fetch('http://localhost/server%20process', {
    unix,
    method: 'POST',
    body: 'null',
  })
  const { outcome } = (await reply.json()) as { outcome: { pid: number } }
  return outcome.pid
}
