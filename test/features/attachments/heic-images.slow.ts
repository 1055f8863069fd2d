import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import {
  type ColourSpace,
  convertToSrgb,
  readProfileSpace,
} from '../../../src/features/attachments/images/colour-space.ts'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody, uploadForm } from '../../support/attachments.ts'
import {
  ADOBE_PRIMARIES,
  P3_PRIMARIES,
  profileOf,
  SRGB_CURVE,
} from '../../support/colour-profiles.ts'
import { type HeicShape, heicOf, QUADRANTS } from '../../support/heic.ts'
import { phonePhoto } from '../../support/pictures.ts'

const PICTURES = join(import.meta.dir, '../../fixtures/pictures')
/** 128 × 96 pixels of (200, 60, 60), made by `heif-enc -p chroma=444`, with 8 and (`-b 10`) 10 bits. */
const RED_PICTURE = { file: readFileSync(join(PICTURES, 'red.heic')), width: 128, height: 96 }
const TEN_BITS = { ...RED_PICTURE, file: readFileSync(join(PICTURES, 'ten-bit.heic')) }
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

const SRGB_TABLE = Array.from({ length: 64 }, (_, at) => {
  const value = at / 63
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
})
const P3_RED = [217, 42, 52]
const COLOURS: [name: string, HeicShape, colour: number[]][] = [
  ['without a profile', {}, [200, 60, 60]],
  ['an invalid profile', { iccProfile: Buffer.from('mluc sRGB') }, [200, 60, 60]],
  ['Display P3', { iccProfile: profileOf('Display P3', P3_PRIMARIES, SRGB_CURVE) }, P3_RED],
  [
    'the profile of Galaxy phones',
    {
      iccProfile: profileOf('DCI-P3 D65 Gamut with sRGB Transfer', P3_PRIMARIES, {
        table: SRGB_TABLE,
      }),
    },
    P3_RED,
  ],
  [
    'Adobe RGB',
    { iccProfile: profileOf('Adobe RGB (1998)', ADOBE_PRIMARIES, { gamma: 2.19921875 }) },
    [233, 58, 59],
  ],
  ['code points of P3', { nclx: [12, 13] }, P3_RED],
  ['code points of P3 for video', { nclx: [12, 1] }, P3_RED],
  ['code points of BT.2020', { nclx: [9, 13] }, [247, 0, 53]],
  ['code points of sRGB', { nclx: [1, 13] }, [200, 60, 60]],
  ['unknown code points', { nclx: [2, 2] }, [200, 60, 60]],
  ['10 bits', { source: TEN_BITS }, [200, 60, 60]],
  ['10 bits in P3', { source: TEN_BITS, nclx: [12, 13] }, P3_RED],
  ['10 bits with PQ', { source: TEN_BITS, nclx: [1, 16] }, [252, 39, 39]],
  ['10 bits with HLG', { source: TEN_BITS, nclx: [1, 18] }, [245, 56, 56]],
]

test.each(COLOURS)('converts the colours of a HEIC to sRGB: %s', async (_name, shape, expected) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const heic = heicOf({ source: RED_PICTURE, ...shape })
  const query = { type: 'publicAsset', targetType: 'png' }
  const { json } = await uploadForm(app, token, [['a.heic', heic]], query)
  const bytes = await (await fetchFile(app, json.response[0].url)).arrayBuffer()
  const [...colour] = (await sharp(bytes).raw().toBuffer()).subarray(0, 3)
  expect(largestDifference(Uint8Array.from(colour), Uint8Array.from(expected))).toBeLessThan(4)
})

test('refuses a tiled HEIC that is truncated or contains a block of zeros', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const whole = heicOf({ grid: [3, 2] })
  const start = whole.indexOf('mdat') + 4
  const zeros = (from: number, to: number) => Buffer.from(whole).fill(0, start + from, start + to)
  for (const [name, heic] of [
    ['cut to 30 %', whole.subarray(0, Math.floor(whole.length * 0.3))],
    ['cut in the last tile', whole.subarray(0, whole.length - 200)],
    ['zeros within a tile', zeros(700, 740)],
    ['zeros over two tiles', zeros(400, 1_000)],
    ['zeros at the start of a tile', zeros(12, 40)],
    ['zeros at the end', zeros(3_300, whole.length - start)],
  ] as const) {
    const { status, json } = await uploadBody(app, token, heic, 'image/heic', 'publicAsset')
    expect([name, status, json.code]).toEqual([name, 422, 'image_unreadable'])
  }
  expect((await uploadBody(app, token, whole, 'image/heic', 'publicAsset')).status).toBe(200)
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
  // Every mix of 16 levels. In 8-bit Display P3, neighbouring dark saturated colours are up to 7 sRGB levels apart.
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
  const { icc = Buffer.alloc(0) } = await sharp(wide).metadata()
  convertToSrgb(pixels, 3, readProfileSpace(icc) as ColourSpace)
  expect(largestDifference(pixels, original)).toBeLessThan(9)
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
