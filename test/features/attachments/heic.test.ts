import { expect, test } from 'bun:test'
import sharp from 'sharp'
import { convertDisplayP3 } from '../../../src/features/attachments/images/display-p3.ts'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody, uploadForm } from '../../support/attachments.ts'
import { type HeicShape, heicOf, QUADRANTS } from '../../support/heic.ts'
import { phonePhoto } from '../../support/pictures.ts'

const [RED, GREEN, BLUE, WHITE] = ['red', 'green', 'blue', 'white'] as const

test('converts a HEIC to JPEG or to the requested format', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  for (const [query, itemType, fileName] of [
    [{ type: 'publicAsset' }, 'image/jpeg', 'IMG_1.jpg'],
    [{ type: 'publicAsset', compression: 'true' }, 'image/jpeg', 'IMG_1.jpg'],
    [{ type: 'publicAsset', targetType: 'webp' }, 'image/webp', 'IMG_1.webp'],
    [{ type: 'publicAsset', targetType: 'png' }, 'image/png', 'IMG_1.png'],
    [{ type: 'supportTicket' }, 'image/jpeg', 'IMG_1.jpg'],
  ] as const) {
    const reply = await uploadForm(app, token, [['IMG_1.HEIC', QUADRANTS]], query)
    const [record] = reply.json.response
    expect(record).toMatchObject({ itemType, fileName })
    const bytes = await (await fetchFile(app, record.url)).arrayBuffer()
    expect(await readPicture(bytes)).toEqual({
      size: [512, 256],
      corners: [RED, GREEN, BLUE, WHITE],
    })
    const widthQuery = `${record.url.includes('?') ? '&' : '?'}width=64`
    expect((await fetchFile(app, record.url + widthQuery)).status).toBe(200)
  }
})

const ORIENTATIONS: [name: string, HeicShape, size: number[], corners: string[]][] = [
  ['unrotated', {}, [512, 256], [RED, GREEN, BLUE, WHITE]],
  ['rotated right, like an iPhone portrait', { turns: 3 }, [256, 512], [BLUE, RED, WHITE, GREEN]],
  ['rotated left', { turns: 1 }, [256, 512], [GREEN, WHITE, RED, BLUE]],
  ['upside down', { turns: 2 }, [512, 256], [WHITE, BLUE, GREEN, RED]],
  ['mirrored', { mirror: 1 }, [512, 256], [GREEN, RED, WHITE, BLUE]],
  ['tiles', { grid: [3, 2] }, [1536, 512], [RED, GREEN, BLUE, WHITE]],
  ['rotated tiles', { grid: [3, 2], turns: 3 }, [512, 1536], [BLUE, RED, WHITE, GREEN]],
  ['as the second image', { isSecond: true, turns: 3 }, [256, 512], [BLUE, RED, WHITE, GREEN]],
]

test('rotates and mirrors a HEIC once and removes its metadata', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  // Exif repeats the rotation, which must not be applied twice.
  const exif = (await sharp(await phonePhoto()).metadata()).exif?.subarray(6) as Buffer
  for (const [name, shape, size, corners] of ORIENTATIONS) {
    const heic = heicOf({ ...shape, exif })
    expect(heic.toString('latin1')).toContain('CanaryPhone')
    const { json } = await uploadBody(app, token, heic, 'image/heic', 'publicAsset')
    const { url, key } = json.response[0]
    const bytes = await (await fetchFile(app, url)).arrayBuffer()
    expect([name, await readPicture(bytes)]).toEqual([name, { size, corners }])
    expect(Buffer.from(bytes).toString('latin1')).not.toContain('CanaryPhone')
    const details = await app.ask('GET', `${PATH}/download?key=${key}`, { token })
    expect(details.json.response).toMatchObject({ width: size[0], height: size[1] })
  }
})

test('converts a HEIC in Display P3 to sRGB', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const redOf = async (iccProfile: Buffer) => {
    const heic = heicOf({ iccProfile })
    const query = { type: 'publicAsset', targetType: 'png' }
    const { json } = await uploadForm(app, token, [['a.heic', heic]], query)
    const bytes = await (await fetchFile(app, json.response[0].url)).arrayBuffer()
    return (await sharp(bytes).raw().toBuffer())[0] ?? 0
  }
  const plain = await redOf(Buffer.from('mluc sRGB'))
  expect(plain).toBeWithin(197, 204)
  expect(await redOf(Buffer.from('Display P3', 'utf16le').swap16())).toBeWithin(214, 224)
})

test('refuses a HEIC that is inconsistent, too large or damaged and leaves no files', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  for (const [name, heic, code] of [
    ['too wide', heicOf({ size: [16_385, 10] }), 'image_too_large'],
    ['64 megapixels', heicOf({ grid: [4, 4], size: [16_000, 4_001] }), 'image_too_large'],
    ['too few tiles', heicOf({ grid: [2, 2], size: [4_000, 3_000] }), 'image_unreadable'],
    ['smaller than declared', heicOf({ size: [4_000, 3_000] }), 'image_unreadable'],
    ['truncated', QUADRANTS.subarray(0, QUADRANTS.length - 200), 'image_unreadable'],
    [
      'only a brand',
      Buffer.from('0000001866747970686569630000000068656963', 'hex'),
      'image_unreadable',
    ],
  ] as const) {
    const { status, json } = await uploadBody(app, token, heic, 'image/heic', 'publicAsset')
    expect([name, status, json.code]).toEqual([name, 422, code])
  }
  expect(await filesOf(app)).toEqual([])
})

test('converts Display P3 colours to sRGB', async () => {
  // Every mix of 16 levels. Eight bits of Display P3 tell dark saturated colours apart by 7 of sRGB's levels.
  const original = Buffer.from(
    Array.from(
      { length: 64 * 64 * 3 },
      (_, at) => ((Math.floor(at / 3) >> (4 * (at % 3))) & 15) * 17,
    ),
  )
  const raw = { width: 64, height: 64, channels: 3 } as const
  const wide = await sharp(original, { raw }).withIccProfile('p3').png().toBuffer()
  const pixels = await sharp(wide).keepIccProfile().raw().toBuffer()
  expect(largestDifference(pixels, original)).toBeGreaterThan(30)
  convertDisplayP3(pixels, 3)
  expect(largestDifference(pixels, original)).toBeLessThan(8)
})

function largestDifference(a: Uint8Array, b: Uint8Array): number {
  return a.reduce((largest, value, at) => Math.max(largest, Math.abs(value - (b[at] ?? 0))), 0)
}

/** The size of an image, and the colours of its corners from left to right. */
async function readPicture(image: ArrayBuffer) {
  const { data, info } = await sharp(image)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { width, height } = info
  const corners = [
    [5, 5],
    [width - 6, 5],
    [5, height - 6],
    [width - 6, height - 6],
  ].map(([x = 0, y = 0]) => colourOf(data.subarray((y * width + x) * 3)))
  return { size: [width, height], corners }
}

function colourOf([red = 0, green = 0, blue = 0]: Uint8Array): string {
  const bits = [red, green, blue].map((value) => (value > 127 ? 1 : 0)).join('')
  return { '100': RED, '010': GREEN, '001': BLUE, '111': WHITE }[bits] ?? `${red} ${green} ${blue}`
}
