import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findMount } from '../../../src/lib/files/mounts.ts'

test('finds the innermost mount of a path, by its real path', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'homeport-mounts-')))
  await mkdir(join(folder, 'my data'))
  await mkdir(join(folder, 'my data-2'))
  const mounts = join(folder, 'mounts')
  await Bun.write(
    mounts,
    [
      '/dev/sda1 / ext4 rw 0 0',
      `server:/x ${folder}/my\\040data nfs4 rw,noexec,relatime 0 0`,
      `tmpfs ${folder}/other tmpfs rw,noexec 0 0\n`,
    ].join('\n'),
  )
  expect(findMount(join(folder, 'my data', 'native', 'not yet'), mounts)).toMatchObject({
    type: 'nfs4',
    isExecutable: false,
  })
  expect(findMount(join(folder, 'my data-2'), mounts)).toMatchObject({ type: 'ext4' })
  expect(findMount(folder, join(folder, 'none'))).toBeNull()
  await rm(folder, { recursive: true })
})
