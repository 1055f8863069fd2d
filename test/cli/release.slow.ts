import { afterEach, beforeAll, expect, test } from 'bun:test'
import { cp, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readSignedFile } from '../../src/cli/service/release.ts'
import { formatSums, verifySums } from '../../src/lib/crypto/release-signature.ts'
import {
  buildExecutable,
  installExecutable,
  newReleaseKey,
  RELEASE_KEY,
} from '../support/executable.ts'
import { startReleaseServer } from '../support/release-server.ts'

beforeAll(buildExecutable, 300_000)

const NAME = 'homeport-9.0.0-linux-x64'
const NEWER = { version: '9.0.0', commit: 'abcdefabcdef', date: '2030-01-01T00:00:00.000Z' }
const disposables: AsyncDisposable[] = []
afterEach(async () => {
  for (const disposable of disposables.splice(0)) await disposable[Symbol.asyncDispose]()
})

/** An executable and a release server that it trusts. A release that runs creates a marker file. */
async function prepare() {
  const homeport = await installExecutable()
  const releases = await startReleaseServer()
  disposables.push(homeport, releases)
  const marker = join(homeport.folder, 'has-run')
  const versionJson = JSON.stringify({ ...NEWER, schemaVersion: 99 })
  const program = `#!/bin/sh\ntouch '${marker}'\necho '${versionJson}'\n`
  await Bun.write(join(releases.folder, NAME), program)
  const executable = join(homeport.folder, 'homeport')
  const before = await stat(executable)
  const env = { NODE_EXTRA_CA_CERTS: releases.authority }
  return {
    releases,
    folder: homeport.folder,
    key: await Bun.file(RELEASE_KEY).text(),
    upgrade: (...args: string[]) => homeport.run(['upgrade', ...args], env),
    hasRun: () => Bun.file(marker).exists(),
    isReplaced: async () => {
      const { ino, mtimeMs, size } = await stat(executable)
      return ino !== before.ino || mtimeMs !== before.mtimeMs || size !== before.size
    },
  }
}

test('a signed release is installed from a URL', async () => {
  const { releases, upgrade, key, isReplaced } = await prepare()
  await releases.publish(NEWER, key)
  const { stderr, stdout, exitCode } = await upgrade(`${releases.url}/${NAME}`)
  expect([stderr, exitCode, stdout]).toEqual(['', 0, expect.stringContaining('9.0.0 is installed')])
  expect(await isReplaced()).toBe(true)
}, 30_000)

type Prepared = Awaited<ReturnType<typeof prepare>>
const REFUSED: [label: string, reason: string, tamper: (setup: Prepared) => Promise<unknown>][] = [
  [
    'over plain http',
    'over https:// only',
    async ({ releases, key }) => {
      await releases.publish(NEWER, key)
      return `${releases.plainUrl}/${NAME}`
    },
  ],
  [
    'that redirects to plain http',
    'over https:// only',
    async ({ releases, key }) => {
      await releases.publish(NEWER, key)
      releases.redirects.set(`/${NAME}`, `${releases.plainUrl}/other`)
    },
  ],
  ['without a signature', 'cannot be fetched', ({ releases }) => releases.publish(NEWER, null)],
  [
    'signed by another key',
    'not signed by the release key',
    ({ releases }) => releases.publish(NEWER, newReleaseKey()),
  ],
  [
    'with checksums that were changed after signing',
    'not signed by the release key',
    async ({ releases, key }) => {
      await releases.publish(NEWER, key)
      const sums = join(releases.folder, 'SHA256SUMS')
      await Bun.write(sums, `${await Bun.file(sums).text()}\n`)
    },
  ],
  [
    'with a file that was changed after signing',
    'does not match the expected one',
    async ({ releases, key }) => {
      const file = join(releases.folder, NAME)
      await releases.publish(NEWER, key)
      await Bun.write(file, `${await Bun.file(file).text()}\n`)
    },
  ],
  [
    'of an older version',
    '--allow-downgrade',
    ({ releases, key }) => releases.publish({ ...NEWER, version: '0.0.9' }, key),
  ],
  [
    'of an older commit of the same version',
    '--allow-downgrade',
    ({ releases, key }) =>
      releases.publish({ ...NEWER, version: '0.1.0', date: '2020-01-01T00:00:00.000Z' }, key),
  ],
  [
    'that its checksums do not list',
    'does not list',
    async ({ releases, key }) => {
      await releases.publish(NEWER, key)
      await cp(join(releases.folder, NAME), join(releases.folder, 'homeport-9.9.9-linux-x64'))
      return `${releases.url}/homeport-9.9.9-linux-x64`
    },
  ],
]

test.each(REFUSED)('a release %s is refused before it runs', async (_, reason, tamper) => {
  const setup = await prepare()
  const source = await tamper(setup)
  const url = typeof source === 'string' ? source : `${setup.releases.url}/${NAME}`
  const { stderr, exitCode } = await setup.upgrade(url)
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)])
  expect([await setup.hasRun(), await setup.isReplaced()]).toEqual([false, false])
})

test('a flag allows an older release, but no flag allows an unsigned one from a URL', async () => {
  const { releases, upgrade, key, isReplaced } = await prepare()
  await releases.publish({ ...NEWER, version: '0.0.9' }, key)
  const unsigned = await upgrade(`${releases.url}/${NAME}`, '--unsigned')
  expect([unsigned.exitCode, unsigned.stderr]).toEqual([
    2,
    expect.stringContaining('is for local files'),
  ])
  expect(await isReplaced()).toBe(false)
  expect((await upgrade(`${releases.url}/${NAME}`, '--allow-downgrade')).stderr).toBe('')
  expect(await isReplaced()).toBe(true)
}, 30_000)

test('a local file needs signed checksums beside it, or a flag', async () => {
  const { releases, upgrade, key, hasRun, isReplaced } = await prepare()
  const file = join(releases.folder, NAME)
  const refused = await upgrade(file)
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('add --unsigned')])
  expect(await hasRun()).toBe(false)
  await releases.publish(NEWER, newReleaseKey())
  expect((await upgrade(file)).stderr).toContain('not signed by the release key')
  expect(await hasRun()).toBe(false)
  await releases.publish(NEWER, key)
  expect((await upgrade(file)).stderr).toBe('')
  expect(await isReplaced()).toBe(true)
}, 30_000)

test('an executable without a release key explains how to upgrade', async () => {
  // A program that runs from source contains no key.
  await expect(readSignedFile('https://example.com/homeport')).rejects.toThrow('<file> --unsigned')
})

test('openssl can verify the signature', async () => {
  const { releases, key } = await prepare()
  await releases.publish(NEWER, key)
  await Bun.write(join(releases.folder, 'private.pem'), key)
  const openssl = await Bun.$`openssl pkey -in private.pem -pubout -out public.pem
openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
sha256sum -c SHA256SUMS`
    .cwd(releases.folder)
    .text()
  expect(openssl).toContain('Signature Verified Successfully')
  expect(openssl).toContain(`${NAME}: OK`)
})

test('rejects checksums without a release version, whatever key signed them', () => {
  const sums = new Map([[NAME, 'a'.repeat(64)]])
  const text = formatSums({ ...NEWER, sums }).replace(/^.*\n/, '')
  expect(verifySums(text, Buffer.alloc(64), [])).toBeNull()
})
