import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countPixels } from '../../../src/features/attachments/images/count-pixels.ts'
import { heicOf } from '../../support/heic.ts'
import { noise, oneBitPng, phonePhoto } from '../../support/pictures.ts'

test('reads the pixel count of an image from its header', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-pixels-'))
  const path = join(folder, 'file')
  for (const [name, content, pixels] of [
    ['JPEG', await phonePhoto(400, 300), 120_000],
    ['progressive JPEG', await noise(50, 30).jpeg({ progressive: true }).toBuffer(), 1_500],
    ['PNG', oneBitPng(9_000, 9_000), 81_000_000],
    ['lossy WebP', await noise(50, 30).webp().toBuffer(), 1_500],
    ['lossless WebP', await noise(50, 30).webp({ lossless: true }).toBuffer(), 1_500],
    [
      'WebP with metadata',
      await noise(50, 30)
        .withExif({ IFD0: { Make: 'x' } })
        .webp()
        .toBuffer(),
      1_500,
    ],
    ['HEIC', heicOf({ grid: [3, 2] }), 1_536 * 512],
    ['another file', Buffer.from('text'), 64_000_000],
    ['a truncated JPEG', (await phonePhoto()).subarray(0, 30), 64_000_000],
    ['an empty file', Buffer.alloc(0), 64_000_000],
  ] as const) {
    await Bun.write(path, content)
    expect([name, await countPixels(path)]).toEqual([name, pixels])
  }
  await rm(folder, { recursive: true })
})
