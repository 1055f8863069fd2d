import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver, register, requesterFor } from '../support/requests.ts'
import { watchServer } from '../support/watch.ts'

const MB = 1e6
const disks: string[] = []
const probe = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', await makeFolder()])
/** Mounting small disks needs root. */
const onSmallDisk = test.skipIf(probe.exitCode !== 0)

/** Only ext4 lets the test report a damaged file system to the kernel. */
const onFailingDisk = test.skipIf(probe.exitCode !== 0 || !existsSync('/sys/fs/ext4'))

beforeAll(buildExecutable, 300_000)
afterAll(async () => {
  for (const disk of disks) {
    Bun.spawnSync(['umount', disk])
    await rm(disk, { recursive: true, force: true })
  }
})

onSmallDisk(
  `on a full disk, writes get 503 or 507 and reads work; the server recovers once space is free ${fault(5)}`,
  async () => {
    await using homeport = await installExecutable()
    const disk = await mountDisk('16m')
    const server = await homeport.start({ DATA_DIR: join(disk, 'data'), RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    const headers = { authorization: `Bearer ${accessToken}` }
    await fill(disk)
    const rename = () =>
      requesterFor(server)('PATCH', '/api/user/profile/v1', {
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ profile: { name: 'x'.repeat(100) } }),
      })
    // The last page of the write-ahead log may still have room.
    const refused: number[] = []
    for (let at = 0; at < 200 && refused.length < 20; at++) {
      const { status } = await rename()
      if (status !== 200) refused.push(status)
    }
    expect(refused).toHaveLength(20)
    expect(refused.every((status) => status === 503 || status === 507)).toBe(true)
    const stopWatching = watchServer(
      server,
      async () => {
        const reply = await fetch(`${server.url}/api/user/profile/v1`, { headers })
        expect(reply.status).toBe(200)
        await reply.bytes()
      },
      2,
    )
    await Bun.sleep(1_000)
    const { p99 } = await stopWatching()
    await rm(join(disk, 'ballast'))
    const start = performance.now()
    while ((await rename()).status !== 200) {
      expect(performance.now() - start).toBeLessThan(5_000)
      await Bun.sleep(20)
    }
    console.log(
      `5: reads p99 ${p99.toFixed(1)} ms, writes again after ${(performance.now() - start).toFixed(0)} ms`,
    )
    expect(p99).toBeLessThan(50)
    expect(await server.stop()).toBe(0)
  },
  60_000,
)

onSmallDisk(
  `on a full disk, the checkpoint process prints nothing; the server reports the failure ${fault(5)}`,
  async () => {
    await using homeport = await installExecutable()
    const disk = await mountDisk('16m')
    const server = await homeport.start({ DATA_DIR: join(disk, 'data'), RATE_LIMITS: 'off' })
    for (let at = 0; at < 150; at++) await deliver(server, `E${at}`, 'x'.repeat(20_000))
    await server.stop('SIGKILL')
    await fill(disk)
    const command = [join(homeport.folder, 'homeport'), 'checkpoint']
    const checkpointing = Bun.spawn([...command, join(disk, 'data', 'homeport.db')], {
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    expect([await checkpointing.exited, await new Response(checkpointing.stderr).text()]).toEqual([
      1,
      '',
    ])
  },
  60_000,
)

onSmallDisk(
  `twenty uploads to a disk too small for them leave complete files or none ${fault(6)}`,
  async () => {
    await using homeport = await installExecutable()
    const disk = await mountDisk('12m')
    const server = await homeport.start({ DATA_DIR: join(disk, 'data'), RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => upload(server, accessToken, 1 * MB)),
    )
    const statuses = replies.map(({ status }) => status)
    const stored = statuses.filter((status) => status === 200).length
    console.log(`6: ${stored} stored, ${statuses.filter((status) => status === 507).length} × 507`)
    expect(statuses.every((status) => status === 200 || status === 507)).toBe(true)
    expect(statuses).toContain(507)
    const files = await readdir(join(disk, 'data', 'files'), {
      recursive: true,
      withFileTypes: true,
    })
    expect(files.filter((entry) => entry.isFile())).toHaveLength(stored)
    const { body } = await requesterFor(server)('GET', '/api/user/export/v1', {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    expect(body.response.attachments).toHaveLength(stored)
    await server.stop()
  },
  60_000,
)

onSmallDisk(
  `forty concurrent uploads respect the minimum free space, and webhooks work ${fault(7)}`,
  async () => {
    await using homeport = await installExecutable()
    const disk = await mountDisk('400m')
    const minFree = 100 * MB
    const server = await homeport.start({
      DATA_DIR: join(disk, 'data'),
      MIN_FREE_BYTES: String(minFree),
      RATE_LIMITS: 'off',
    })
    const users = await Promise.all(
      Array.from({ length: 8 }, (_, at) => register(server, `p${at}@example.com`)),
    )
    let lowestFree = Number.POSITIVE_INFINITY
    let isOver = false
    const watching = (async () => {
      while (!isOver) {
        const { bavail, bsize } = await statfs(disk)
        lowestFree = Math.min(lowestFree, bavail * bsize)
        await Bun.sleep(5)
      }
    })()
    const uploads = Array.from({ length: 40 }, (_, at) => {
      const token = users[at % users.length]?.accessToken ?? ''
      return upload(server, token, 24 * MB, 400)
    })
    const webhookStatuses: number[] = []
    for (let at = 0; at < 40; at++) {
      webhookStatuses.push((await deliver(server, `E-${at}`)).status)
      await Bun.sleep(25)
    }
    const statuses = (await Promise.all(uploads)).map(({ status }) => status)
    isOver = true
    await watching
    console.log(
      `7: ${statuses.filter((status) => status === 200).length} stored, ${statuses.filter((status) => status === 507).length} × 507, lowest free ${(lowestFree / MB).toFixed(1)} MB`,
    )
    expect(webhookStatuses.every((status) => status === 200)).toBe(true)
    expect(statuses.every((status) => status === 200 || status === 507)).toBe(true)
    expect(lowestFree).toBeGreaterThan(minFree - 2 * MB)
    await server.stop()
  },
  120_000,
)

onFailingDisk(
  `on a disk that becomes read-only, writes get 503, reads work, and nothing is lost ${fault(8)}`,
  async () => {
    await using homeport = await installExecutable()
    const folder = await makeFolder()
    const [image, mounted] = [`${folder}.image`, folder]
    const mount = async () => {
      await Bun.$`mount -o loop,errors=remount-ro ${image} ${mounted}`.quiet()
      return basename((await Bun.$`findmnt -no SOURCE ${mounted}`.text()).trim())
    }
    await Bun.$`truncate -s 64M ${image} && mkfs.ext4 -q ${image}`.quiet()
    const device = await mount()
    const environment = { DATA_DIR: join(mounted, 'data') }
    const server = await homeport.start(environment)
    const { accessToken } = await register(server, 'ann@example.com')
    const read = async () => {
      const headers = { authorization: `Bearer ${accessToken}` }
      return (await requesterFor(server)('GET', '/api/user/profile/v1', { headers })).status
    }
    expect((await deliver(server, 'E1')).status).toBe(200)
    // The kernel does the same when it detects a damaged file system.
    await Bun.write(`/sys/fs/ext4/${device}/trigger_fs_error`, '1')
    for (let at = 0; at < 20; at++) {
      expect([(await deliver(server, `F${at}`)).status, await read()]).toEqual([503, 200])
    }
    const isReady = async () => (await requesterFor(server)('GET', '/ready')).status === 200
    for (let tries = 0; tries < 40 && (await isReady()); tries++) await Bun.sleep(50)
    expect(await isReady()).toBe(false)
    await server.stop()
    await Bun.$`umount ${mounted}; e2fsck -fy ${image}`.quiet().nothrow()
    await mount()
    const restarted = await homeport.start(environment)
    expect((await deliver(restarted, 'E1')).code).toBe('duplicate')
    expect((await deliver(restarted, 'F1')).code).toBe('ok')
    await restarted.stop()
    await rm(image)
  },
  60_000,
)

onSmallDisk(
  'startup reports a full or read-only disk in one sentence',
  async () => {
    await using homeport = await installExecutable()
    const disk = await mountDisk('4m')
    const dataDir = join(disk, 'data')
    const start = async () => {
      const { exitCode, stderr } = await homeport.run(['serve'], { DATA_DIR: dataDir, PORT: '0' })
      return [exitCode, stderr]
    }
    await fill(disk)
    expect(await start()).toEqual([
      1,
      `The disk that holds ${dataDir} is full: free some space and start again.\n`,
    ])
    await rm(join(disk, 'ballast'))
    expect((await homeport.run(['init'], { DATA_DIR: dataDir })).exitCode).toBe(0)
    Bun.spawnSync(['mount', '-o', 'remount,ro', disk])
    expect(await start()).toEqual([
      1,
      `${dataDir} is read-only: mount its disk writable and start again.\n`,
    ])
  },
  60_000,
)

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-disk-'))
  disks.push(folder)
  return folder
}

async function mountDisk(size: string): Promise<string> {
  const folder = await makeFolder()
  Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder])
  await mkdir(join(folder, 'data'), { mode: 0o700 })
  return folder
}

/** Leaves no free space at all. */
async function fill(disk: string) {
  const { bavail, bsize } = await statfs(disk)
  Bun.spawnSync([
    'dd',
    'if=/dev/zero',
    `of=${join(disk, 'ballast')}`,
    `bs=${bsize}`,
    `count=${bavail}`,
  ])
}

/** Sends a text file over at least `duration` ms. The server may refuse it before the end. */
async function upload({ url }: Server, token: string, size: number, duration = 0) {
  const parts = duration === 0 ? 1 : 20
  const part = Buffer.alloc(size / parts, 'x')
  const pieces = async function* () {
    for (let at = 0; at < parts; at++) {
      yield part
      if (duration > 0) await Bun.sleep(duration / parts)
    }
  }
  const reply = await fetch(`${url}/api/user/attachments/v1?type=supportTicket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: duration === 0 ? part : (pieces() as never),
  })
  await reply.bytes()
  return reply
}
