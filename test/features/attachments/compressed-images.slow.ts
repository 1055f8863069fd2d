import { expect, test } from 'bun:test'
import sharp, { type Sharp } from 'sharp'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, uploadForm } from '../../support/attachments.ts'
import {
  pngChunkNames,
  uint32s,
  withJpegSegments,
  withPngChunks,
} from '../../support/image-parts.ts'
import { noise, oneBitPng, phonePhoto } from '../../support/pictures.ts'

const MARKER = Buffer.from('CanaryPhone')
const small = () => noise(320, 240).blur(2)
/** A page of black dots. */
const scan = () => oneBitPng(1_240, 1_754, dots)
const dots = (at: number) => ((at * 2_654_435_761) >>> 24 > 230 ? 0x3c : 0xff)
/** Adds every kind of metadata that the format supports, and data after the image. */
const markWebp = async (image: Sharp) =>
  Buffer.concat([
    await image
      .withExif({ IFD0: { Make: 'CanaryPhone' } })
      .withXmp(xmp())
      .toBuffer(),
    MARKER,
  ])
const markJpeg = async (image: Sharp) =>
  Buffer.concat([
    withJpegSegments(await image.withExif({ IFD0: { Make: 'CanaryPhone' } }).toBuffer(), [
      [0xe2, Buffer.concat([Buffer.from('MPF\0'), MARKER])],
      [0xed, MARKER],
      [0xfe, MARKER],
      [0xe0, Buffer.concat([Buffer.from('JFXX\0'), MARKER])],
    ]),
    MARKER,
  ])
const markPng = (png: Buffer) =>
  Buffer.concat([
    withPngChunks(png, [
      ['tEXt', Buffer.from('Author\0CanaryPhone')],
      ['gAMA', uint32s(45_455)],
      ['prVt', MARKER],
    ]),
    MARKER,
  ])

test.each([
  ['a WebP of quality 50', () => markWebp(small().webp({ quality: 50 }))],
  ['a lossless WebP', () => markWebp(sharp(scan()).webp({ lossless: true }))],
  ['a JPEG of quality 70', () => markJpeg(small().jpeg({ quality: 70 }))],
  ['a progressive JPEG', () => markJpeg(small().jpeg({ quality: 50, progressive: true }))],
  ['a grey JPEG', () => markJpeg(small().toColourspace('b-w').jpeg({ quality: 50 }))],
  [
    'a PNG with a palette',
    async () => markPng(await small().png({ palette: true, colours: 8 }).toBuffer()),
  ],
  ['a 1-bit scan', () => markPng(scan())],
])('compression keeps the pixels of %s, without metadata', async (_what, make) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const image = await make()
  expect(image.includes(MARKER)).toBe(true)
  for (const type of ['publicAsset', 'supportTicket']) {
    const bytes = await compress(app, token, image, { type })
    expect(bytes.length).toBeLessThan(image.length)
    expect(bytes.includes(MARKER)).toBe(false)
    expect(await pictureOf(bytes)).toEqual(await pictureOf(image))
  }
})

test('compression keeps the colours of a small PNG', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const plain = await small().png({ palette: true, colours: 4 }).toBuffer()
  const chunks: [string, Buffer][] = [
    ['cHRM', uint32s(31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000)],
    ['gAMA', uint32s(45_455)],
    ['tIME', Buffer.alloc(7)],
  ]
  const bytes = await compress(app, token, withPngChunks(plain, chunks), { type: 'publicAsset' })
  const names = pngChunkNames(bytes)
  expect(names.slice(0, 4)).toEqual(['IHDR', 'cHRM', 'gAMA', 'PLTE'])
})

test.each(['jpeg', 'webp'] as const)(
  'compression turns a small %s upright without making it larger',
  async (format) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register()
    for (const quality of [70, 20]) {
      const photo = await sharp(await phonePhoto())
        .keepExif()
        .toFormat(format, { quality })
        .toBuffer()
      const bytes = await compress(app, token, photo, { type: 'supportTicket' })
      expect(bytes.length).toBeLessThanOrEqual(photo.length)
      const { width, height, orientation } = await sharp(bytes).metadata()
      expect([width, height, orientation]).toEqual([300, 400, undefined])
      expect(bytes.includes(MARKER)).toBe(false)
    }
  },
)

test('compression scales a large image down, to less than half its size in bytes', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const large = await noise(3_000, 2_000).jpeg({ quality: 95 }).toBuffer()
  const bytes = await compress(app, token, large, { type: 'publicAsset' })
  expect(bytes.length).toBeLessThan(large.length / 2)
  expect(await sharp(bytes).metadata()).toMatchObject({ width: 2_560 })
})

async function compress(
  app: Awaited<ReturnType<typeof createTestApp>>,
  token: string,
  image: Buffer,
  query: Record<string, string>,
): Promise<Buffer> {
  const { json } = await uploadForm(app, token, [['a', image]], { ...query, compression: 'true' })
  return Buffer.from(await (await fetchFile(app, json.response[0].url)).arrayBuffer())
}

/** The structure and the pixels of an image. */
async function pictureOf(image: Buffer) {
  const { width, height, channels, bitsPerSample, isPalette, isProgressive } =
    await sharp(image).metadata()
  const pixels = Bun.hash(await sharp(image).raw().toBuffer())
  return { width, height, channels, bitsPerSample, isPalette, isProgressive, pixels }
}

function xmp(): string {
  return '<x:xmpmeta xmlns:x="adobe:ns:meta/"><x>CanaryPhone</x></x:xmpmeta>'
}
