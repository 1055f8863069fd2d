import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newReleaseKey } from '../support/executable.ts'
import { startReleaseServer } from '../support/release-server.ts'

const PLATFORMS = ['linux-x64', 'linux-arm64', 'macos-arm64']
const NAMES = PLATFORMS.map((platform) => `homeport-9.0.0-${platform}`)
const PROGRAM = '#!/bin/sh\ntouch "$PREFIX/has-run"\necho 9.0.0\n'
const RELEASE = { version: '9.0.0', commit: 'abcdefabcdef', date: '2030-01-01T00:00:00.000Z' }

type Releases = Awaited<ReturnType<typeof startReleaseServer>>

test('the install script installs the build for this platform', async () => {
  await using releases = await publish(newReleaseKey())
  const { prefix, output, errorOutput, exitCode } = await install(releases)
  expect([exitCode, errorOutput, output]).toEqual([0, '', '9.0.0\n'])
  expect(await readdir(prefix)).toContain('homeport')
  expect((await install(releases, {}, prefix)).errorOutput).toContain('run "homeport upgrade"')
  await rm(prefix, { recursive: true })
})

test.each<[string, string, (releases: Releases) => Promise<Record<string, string>>]>([
  ['over plain http', 'over https:// only', async ({ plainUrl }) => ({ URL: plainUrl })],
  [
    'whose checksums were signed by another key',
    'not signed by the release key',
    async (releases) => {
      const script = await Bun.file(join(releases.folder, 'install.sh')).text()
      await releases.publish(RELEASE, newReleaseKey())
      await Bun.write(join(releases.folder, 'install.sh'), script)
      return {}
    },
  ],
  [
    'whose checksums were changed',
    'not signed by the release key',
    async ({ folder }) => {
      const sums = Bun.file(join(folder, 'SHA256SUMS'))
      await Bun.write(sums, `${await sums.text()}\n`)
      return {}
    },
  ],
  [
    'whose files were changed',
    'does not match SHA256SUMS',
    async ({ folder }) => {
      for (const name of NAMES) await Bun.write(join(folder, name), `${PROGRAM}# changed`)
      return {}
    },
  ],
  [
    'that redirects to plain http',
    'cannot be downloaded',
    async ({ redirects, plainUrl }) => {
      for (const name of NAMES) redirects.set(`/${name}`, `${plainUrl}/${name}x`)
      return {}
    },
  ],
  [
    'if curl and openssl are missing',
    'The script needs curl and openssl, which it cannot find.',
    ({ folder }) => pathWithout(folder, 'curl', 'openssl'),
  ],
  [
    'if no tool computes SHA-256',
    'The script needs sha256sum, which it cannot find.',
    ({ folder }) => pathWithout(folder, 'sha256sum'),
  ],
  [
    'into a directory that does not exist',
    'cannot write to /does/not/exist: run it as root, or set PREFIX',
    async () => ({ PREFIX: '/does/not/exist' }),
  ],
])('the install script runs no file of a release %s', async (_, reason, tamper) => {
  await using releases = await publish(newReleaseKey())
  const { prefix, exitCode, errorOutput } = await install(releases, await tamper(releases))
  expect([exitCode, errorOutput]).toEqual([1, expect.stringContaining(reason)])
  expect(errorOutput).toContain('Nothing was installed.')
  expect(await readdir(prefix)).toEqual([])
  await rm(prefix, { recursive: true })
})

test('the install script installs into a relative directory', async () => {
  await using releases = await publish(newReleaseKey())
  const { exitCode, output } = await install(releases, {}, '.')
  expect([exitCode, output]).toEqual([0, '9.0.0\n'])
  expect(await readdir(releases.folder)).toContain('homeport')
})

test('the install script fails without a release key', async () => {
  await using releases = await publish(null)
  const { exitCode, errorOutput } = await install(releases)
  expect([exitCode, errorOutput]).toEqual([1, expect.stringContaining('contains no release key')])
})

/** A PATH with only the tools that the script needs, without the `missing` ones. */
async function pathWithout(folder: string, ...missing: string[]) {
  const bin = join(folder, 'bin')
  const tools = ['sh', 'uname', 'curl', 'openssl', 'mktemp', 'rm', 'grep', 'ldd', 'sha256sum']
  for (const name of tools.filter((tool) => !missing.includes(tool)))
    await Bun.$`mkdir -p ${bin} && ln -sf ${Bun.which(name) ?? name} ${join(bin, name)}`.quiet()
  return { PATH: bin }
}

async function publish(privateKey: string | null) {
  const releases = await startReleaseServer()
  for (const name of NAMES) await Bun.write(join(releases.folder, name), PROGRAM)
  await releases.publish(RELEASE, privateKey)
  return releases
}

async function install(releases: Releases, env: Record<string, string> = {}, into?: string) {
  const prefix = into ?? (await mkdtemp(join(tmpdir(), 'homeport-install-')))
  const path = process.env['PATH'] ?? ''
  const environment = { PATH: path, PREFIX: prefix, CURL_CA_BUNDLE: releases.authority, ...env }
  const command = ['/bin/sh', join(releases.folder, 'install.sh'), env['URL'] ?? releases.url]
  const script = Bun.spawn(command, {
    cwd: releases.folder,
    env: environment,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errorOutput] = [await script.stdout.text(), await script.stderr.text()]
  return { prefix, output, errorOutput, exitCode: await script.exited }
}
