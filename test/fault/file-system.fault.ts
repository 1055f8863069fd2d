import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'

const folder = await mkdtemp(join(tmpdir(), 'homeport-btrfs-'))
const disk = join(folder, 'disk')
await mkdir(disk)
/** Needs root, loop devices and btrfs-progs. */
const canMount =
  Bun.which('mkfs.btrfs') !== null &&
  (
    await Bun.$`truncate -s 200M disk.img && mkfs.btrfs -q disk.img && mount -o loop disk.img disk`
      .cwd(folder)
      .nothrow()
      .quiet()
  ).exitCode === 0

beforeAll(buildExecutable, 300_000)
afterAll(async () => {
  Bun.spawnSync(['umount', disk])
  await rm(folder, { recursive: true, force: true })
})

test.skipIf(!canMount)(
  `names btrfs and refuses to start on it, unless ALLOW_FILE_SYSTEM names it ${fault('5a')}`,
  async () => {
    await using homeport = await installExecutable()
    const DATA_DIR = join(disk, 'data')
    for (const command of ['serve', 'init']) {
      const { exitCode, stderr } = await homeport.run([command], { DATA_DIR, PORT: '0' })
      expect([exitCode, stderr]).toEqual([78, expect.stringContaining(`${DATA_DIR} is on btrfs`)])
      expect(stderr.trim().split('\n')).toHaveLength(1)
    }
    expect(await readdir(DATA_DIR)).not.toContain('homeport.db')
    const server = await homeport.start({ DATA_DIR, ALLOW_FILE_SYSTEM: 'btrfs' })
    expect(await server.stop()).toBe(0)
    // Data that is already there is refused as well, before it is opened.
    const { stderr } = await homeport.run(['serve'], { DATA_DIR, PORT: '0' })
    expect(stderr).toContain('ALLOW_FILE_SYSTEM=btrfs')
  },
  60_000,
)
