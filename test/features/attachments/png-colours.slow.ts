import { expect, test } from 'bun:test'
import { deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { encodePng } from '../../../src/lib/files/png.ts'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, uploadForm } from '../../support/attachments.ts'
import { P3_PRIMARIES, profileOf, SRGB_CURVE } from '../../support/colour-profiles.ts'
import { uint32s, withPngChunks } from '../../support/image-parts.ts'

type Chunk = [type: string, data: Buffer]

const SRGB_POINTS = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]
const P3_POINTS = [31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000]
const PLAIN = [200, 60, 60]
const P3_RED = [217, 42, 52]
const codes = (primaries: number, transfer: number): Chunk => [
  'cICP',
  Buffer.of(primaries, transfer, 0, 1),
]
const points = (values: number[]): Chunk => ['cHRM', uint32s(...values)]
const gamma = (value: number): Chunk => ['gAMA', uint32s(value)]
const profile = (data: Buffer): Chunk => [
  'iCCP',
  Buffer.concat([Buffer.from('p\0\0'), deflateSync(data)]),
]
const p3Profile = profile(profileOf('P3', P3_PRIMARIES, SRGB_CURVE))

test.each<[string, Chunk[], number[]]>([
  ['no chunks', [], PLAIN],
  ['the chunks of sRGB', [gamma(45_455), points(SRGB_POINTS)], PLAIN],
  ['code points of sRGB', [codes(1, 13)], PLAIN],
  ['code points of P3', [codes(12, 13)], P3_RED],
  ['code points of BT.2020', [codes(9, 13)], [247, 0, 53]],
  ['code points of PQ', [codes(1, 16)], [254, 39, 39]],
  ['code points and a profile', [codes(9, 13), p3Profile], [247, 0, 53]],
  ['a profile', [p3Profile], P3_RED],
  ['a profile and another gamma', [gamma(100_000), p3Profile], P3_RED],
  ['primaries of P3', [points(P3_POINTS)], P3_RED],
  ['linear light', [gamma(100_000)], [228, 133, 133]],
  ['linear light, but sRGB', [['sRGB', Buffer.of(0)], gamma(100_000)], PLAIN],
  ['impossible primaries', [points([0, 0, 0, 0, 0, 0, 0, 0])], PLAIN],
])('converts the colours of a PNG with %s to sRGB', async (_what, chunks, expected) => {
  for (const bitDepth of [8, 16]) {
    const colour = await colourOf(withPngChunks(pixels(PLAIN, bitDepth), chunks))
    expect(largestDifference(colour, expected)).toBeLessThan(4)
  }
})

test('converts 16-bit greys with a profile', async () => {
  const grey = grayProfile(1)
  for (const bitDepth of [8, 16]) {
    const colour = await colourOf(withPngChunks(pixels([60], bitDepth), [profile(grey)]))
    expect(largestDifference(colour, [133, 133, 133])).toBeLessThan(4)
  }
})

/** A PNG of one colour. */
function pixels(colour: number[], bitDepth: number): Buffer {
  const bytes = colour.flatMap((value) => (bitDepth === 16 ? [value, value] : [value]))
  const row = Buffer.of(0, ...Array(16).fill(bytes).flat())
  const header = { width: 16, height: 16, bitDepth, colorType: colour.length === 1 ? 0 : 2 }
  return encodePng(header, Buffer.concat(Array(16).fill(row)))
}

/** The colour that a PNG has after an upload. */
async function colourOf(png: Buffer): Promise<number[]> {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const query = { type: 'publicAsset', targetType: 'png' }
  const { json } = await uploadForm(app, token, [['a.png', png]], query)
  const bytes = await (await fetchFile(app, json.response[0].url)).arrayBuffer()
  const { data, info } = await sharp(bytes)
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  expect(info.width).toBe(16)
  return info.channels < 3 ? [0, 0, 0].map(() => data[0] ?? 0) : [...data.subarray(0, 3)]
}

/** A grey profile with a gamma, made from an RGB profile by changing its header and tags. */
function grayProfile(value: number): Buffer {
  const data = profileOf('Grey', P3_PRIMARIES, { gamma: value })
  data.write('GRAY', 16)
  return Buffer.from(data.toString('latin1').replace('rTRC', 'kTRC'), 'latin1')
}

function largestDifference(a: number[], b: number[]): number {
  return Math.max(...a.map((value, at) => Math.abs(value - (b[at] ?? 0))))
}
