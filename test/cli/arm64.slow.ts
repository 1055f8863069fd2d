import { afterAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { version } from '../../package.json' with { type: 'json' }
import { readBuildInfo } from '../../scripts/build-info.ts'
import { ROOT } from '../../scripts/root.ts'
import { freePort, waitUntilReady } from '../support/executable.ts'
import { phonePhoto } from '../support/pictures.ts'
import { register, requesterFor } from '../support/requests.ts'

/** Runs the arm64 executable of `bun run release linux-arm64` on an x64 machine, emulated by qemu-user. */
const EXECUTABLE = join(ROOT, 'dist', 'release', `homeport-${version}-linux-arm64`)
/** Debian's libc6-arm64-cross and libstdc++6-arm64-cross install the libraries here. */
const LIBRARIES = '/usr/aarch64-linux-gnu'
const QEMU = Bun.which('qemu-aarch64-static') ?? Bun.which('qemu-aarch64')

const folder = await mkdtemp(join(tmpdir(), 'homeport-arm64-'))
const emulator = join(folder, 'emulator')
await Bun.write(emulator, `#!/bin/sh\nexec ${QEMU} -L ${LIBRARIES} "$@"\n`)
await chmod(emulator, 0o755)
afterAll(() => rm(folder, { recursive: true, force: true }))

// The server starts itself again to process images, so the kernel must know the emulator. A user
// namespace hides this from all other processes (Linux 6.7 and later).
const MAGIC = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`
const MASK = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`
const SCRIPT = `mount -t binfmt_misc none /proc/sys/fs/binfmt_misc &&
printf %s "$0" >/proc/sys/fs/binfmt_misc/register && exec "$@"`
const EMULATED = [
  ...['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', SCRIPT],
  `:arm64:M::${MAGIC}:${MASK}:${emulator}:`,
]

const missing = await findMissing()

async function findMissing(): Promise<string> {
  if (QEMU === null) return 'qemu-user-static is not installed'
  if (!existsSync(join(LIBRARIES, 'lib', 'libstdc++.so.6')))
    return 'libstdc++6-arm64-cross is not installed'
  if (!existsSync(EXECUTABLE)) return '"bun run release linux-arm64" has not run'
  const { commit } = await readBuildInfo()
  if (!Buffer.from(await Bun.file(EXECUTABLE).arrayBuffer()).includes(commit ?? ''))
    return '"bun run release linux-arm64" has run on another commit'
  const probe = Bun.spawnSync([...EMULATED, 'true'])
  return probe.exitCode === 0 ? '' : `no emulation: ${probe.stderr.toString().trim()}`
}

test.skipIf(missing !== '')(
  `the arm64 executable serves, converts an image and stops${missing && ` (skipped: ${missing})`}`,
  async () => {
    const url = `http://127.0.0.1:${freePort()}`
    const env = {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: new URL(url).port,
      DATA_DIR: join(folder, 'data'),
      RATES_PROVIDER: 'off',
      MIN_FREE_BYTES: '0',
    }
    const options = { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' } as const
    const run = (...args: string[]) => Bun.spawn([...EMULATED, EXECUTABLE, ...args], options)

    expect(await run('version').stdout.text()).toStartWith(version)
    await using server = run('serve')
    await waitUntilReady(url, server, 30_000)
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' })
    const { accessToken } = await register({ url }, 'ann@example.com')
    const { status, body } = await requesterFor({ url })(
      'POST',
      '/api/user/attachments/v1?type=publicAsset&targetType=webp&compression=true',
      { headers: { authorization: `Bearer ${accessToken}` }, body: await phonePhoto() },
    )
    expect(status).toBe(200)
    const image = await (await fetch(body.response[0].url)).arrayBuffer()
    expect(await sharp(image).metadata()).toMatchObject({ format: 'webp', width: 300 })
    expect(await run('user', 'list').stdout.text()).toContain('ann@example.com')
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  },
  60_000,
)
