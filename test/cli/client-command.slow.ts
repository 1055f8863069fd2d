import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { version } from '../../package.json' with { type: 'json' }
import { buildExecutable, installExecutable } from '../support/executable.ts'

const NAME = `homeport-client-${version}.tgz`

beforeAll(buildExecutable, 300_000)

test('the executable serves the client package, and writes the same file without a server', async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  const served = new Uint8Array(await (await fetch(`${server.url}/client.tgz`)).arrayBuffer())
  await server.stop()
  const { stdout, stderr, exitCode } = await homeport.run(['client'])
  const path = join(homeport.folder, NAME)
  expect([stderr, exitCode]).toEqual(['', 0])
  expect(await Bun.file(path).bytes()).toEqual(served)
  const integrity = `sha512-${new Bun.CryptoHasher('sha512').update(served).digest('base64')}`
  expect(stdout.split('\n').slice(1)).toEqual([
    `Integrity: ${integrity}`,
    `In the app: npm install ${path}`,
    '',
  ])
  const asJson = await homeport.run(['client', '--yes', '--json'])
  expect(JSON.parse(asJson.stdout)).toEqual({ path, version, bytes: served.length, integrity })
}, 30_000)

test('refuses to replace a file without --yes, and to write into a missing folder', async () => {
  await using homeport = await installExecutable()
  await Bun.write(join(homeport.folder, NAME), 'mine')
  const replacing = await homeport.run(['client', '--out', './'])
  expect([replacing.exitCode, replacing.stderr]).toEqual([2, expect.stringContaining('--yes')])
  expect(await Bun.file(join(homeport.folder, NAME)).text()).toBe('mine')
  for (const out of ['missing/', 'missing/client.tgz']) {
    const { exitCode, stderr } = await homeport.run(['client', '--out', out])
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('There is no folder')])
  }
})
