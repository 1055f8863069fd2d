import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../src/lib/crypto.ts'

const SCRIPT = join(import.meta.dir, '..', '..', 'install.sh')
const NAMES = ['linux-x64', 'linux-arm64', 'macos-arm64'].map((one) => `homeport-9.0.0-${one}`)
const PROGRAM = '#!/bin/sh\necho 9.0.0\n'

test('the install script takes what is for this machine, and only what its sum says', async () => {
  for (const [served, exitCode, installed] of [
    [PROGRAM, 0, ['homeport']],
    [`${PROGRAM}# changed`, 1, []],
  ] as const) {
    using releases = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => new Response(url.endsWith('SHA256SUMS') ? sums() : served),
    })
    const prefix = await mkdtemp(join(tmpdir(), 'homeport-install-'))
    const script = Bun.spawn(['sh', SCRIPT, releases.url.href], {
      env: { PATH: process.env['PATH'], PREFIX: prefix },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [said, failed] = [await script.stdout.text(), await script.stderr.text()]
    expect([await script.exited, await readdir(prefix)]).toEqual([exitCode, [...installed]])
    if (exitCode === 0) expect(said).toBe('9.0.0\n')
    else expect(failed).toContain('nothing was installed')
    await rm(prefix, { recursive: true })
  }
})

function sums(): string {
  return NAMES.map((name) => `${sha256(PROGRAM, 'hex')}  ${name}\n`).join('')
}
