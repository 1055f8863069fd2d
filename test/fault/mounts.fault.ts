import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { register } from '../support/requests.ts'

const folder = await mkdtemp(join(tmpdir(), 'homeport-mount-'))
const mounting = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'noexec', 'tmpfs', folder])
/** Mounting needs root. */
const onMount = test.skipIf(mounting.exitCode !== 0)

beforeAll(buildExecutable, 300_000)
afterAll(async () => {
  Bun.spawnSync(['umount', folder])
  await rm(folder, { recursive: true, force: true })
})

onMount(
  'on a noexec mount, the log, doctor and the response say what to do',
  async () => {
    await using homeport = await installExecutable()
    const environment = { DATA_DIR: join(folder, 'data') }
    const server = await homeport.start(environment)
    await homeport.waitForLogLine('set NATIVE_DIR to a folder on another mount')
    const { accessToken } = await register(server, 'ann@example.com')
    const upload = await fetch(`${server.url}/api/user/attachments/v1?type=publicAsset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'image/png' },
      body: Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAMAAAA7+k+nAAAABlBMVEUqb5f0omEs7PK3AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAE0lEQVQY02NgQAKMSIBhVGIgJACTEADBhhfUogAAAABJRU5ErkJggg==',
        'base64',
      ),
    })
    expect([upload.status, await upload.text()]).toEqual([
      503,
      expect.stringContaining('Images cannot be processed at the moment'),
    ])
    expect((await homeport.run(['doctor'], environment)).stdout).toMatch(/folders .*\n.*NATIVE_DIR/)
    await server.stop()

    const usable = await homeport.start({
      ...environment,
      NATIVE_DIR: join(homeport.folder, 'native'),
    })
    await usable.stop()
  },
  60_000,
)
