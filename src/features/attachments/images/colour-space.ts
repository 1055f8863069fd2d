import { readParts } from './containers.ts'

/** Converts a red, green or blue value from 0 to 1 to linear light. */
type Curve = (value: number) => number
type Vector = readonly number[]

/** A colour space defined by three primaries. */
export type ColourSpace = {
  curves: readonly Curve[]
  /** Linear red, green and blue, each in linear sRGB. */
  columns: readonly Vector[]
}

/** Linear light is rounded to this many steps; the darkest sRGB values are 1 / 3,295 apart. */
const STEPS = 16_384
/** XYZ, in ICC profiles with the white D50, to linear sRGB. */
const D50_TO_SRGB = [
  [3.1341359, -1.617386, -0.4906622],
  [-0.9787955, 1.9162544, 0.0334429],
  [0.0719554, -0.2289768, 1.405386],
]
const D65_TO_SRGB = [
  [3.2409699, -1.5373832, -0.4986108],
  [-0.9692436, 1.8759675, 0.0415551],
  [0.0556301, -0.203977, 1.0569715],
]
/** The x and y of red, green and blue, then primaries and curves by code point (ITU-T H.273). */
const SRGB = [0.64, 0.33, 0.3, 0.6, 0.15, 0.06]
const P3 = [0.68, 0.32, 0.265, 0.69, 0.15, 0.06]
const BT_2020 = [0.708, 0.292, 0.17, 0.797, 0.131, 0.046]
const PRIMARIES: Record<number, Vector> = { 9: BT_2020, 11: P3, 12: P3 }
/** All other codes mean sRGB, or video, which viewers show like sRGB. */
const CURVES: Record<number, Curve> = {
  4: (value) => value ** 2.2,
  8: (value) => value,
  16: (value) => compressHdr(decodePq(value)),
  18: (value) => compressHdr(decodeHlg(value)),
}
/** The brightness of white paper on an HDR display, in cd/m² (ITU-R BT.2408). */
const HDR_WHITE = 203
/** Light above this fraction of white is compressed. */
const HDR_KNEE = 0.75
/** The gamma that programs write into PNG files for sRGB. */
const PNG_GAMMA = 1 / 2.2

/** The colour space for the code points in HEIC and PNG files; null for sRGB. */
export function findSpaceByCodePoints(primaries: number, transfer: number): ColourSpace | null {
  return findSpace(PRIMARIES[primaries] ?? SRGB, CURVES[transfer] ?? decodeSrgb)
}

/** The colour space of a PNG without an ICC profile; null for sRGB. */
export function readPngSpace(head: Buffer): ColourSpace | null {
  const parts = readParts(head, 'png', /IDAT|iCCP|sRGB/)
  const chunk = (type: string) => parts.find(({ name }) => name === type)?.bytes.subarray(8)
  const codes = chunk('cICP')
  if (codes) return findSpaceByCodePoints(codes.readUInt8(0), codes.readUInt8(1))
  if (parts.at(-1)?.name !== 'IDAT') return null
  const gamma = (chunk('gAMA')?.readUInt32BE() || PNG_GAMMA * 100_000) / 100_000
  const points = chunk('cHRM')
  return findSpace(
    SRGB.map((point, at) => (points ? points.readUInt32BE(8 + 4 * at) / 100_000 : point)),
    isClose(gamma, PNG_GAMMA) ? decodeSrgb : (value) => value ** (1 / gamma),
  )
}

/** The space whose primaries add up to sRGB white; null for sRGB and for impossible primaries. */
function findSpace(points: Vector, curve: Curve): ColourSpace | null {
  const isSrgb = points.every((point, at) => isClose(point, SRGB[at]))
  if (isSrgb && curve === decodeSrgb) return null
  const primaries = [0, 2, 4].map((at) => {
    const [x = 0, y = 0] = points.slice(at)
    return transform(D65_TO_SRGB, [x / y, 1, (1 - x - y) / y])
  })
  const columns = primaries.map((primary, at) => {
    // Cramer's rule.
    const scale = determinant(primaries.with(at, [1, 1, 1])) / determinant(primaries)
    return primary.map((light) => light * scale)
  })
  return columns.flat().every(Number.isFinite) ? { curves: [curve, curve, curve], columns } : null
}

/** The space of an ICC profile; null if the profile has neither primaries with curves nor a grey curve. */
export function readProfileSpace(profile: Buffer): ColourSpace | null {
  const tags = profile.subarray(132).toString('latin1', 0, 12 * 100)
  const find = (tag: string) =>
    profile.readUInt32BE(tags.includes(tag) ? 136 + tags.indexOf(tag) : profile.length)
  try {
    if (tags.includes('kTRC')) return findSpace(SRGB, readCurve(profile, find('kTRC')))
    const columns = ['rXYZ', 'gXYZ', 'bXYZ'].map((tag) =>
      transform(D50_TO_SRGB, readNumbers(profile, find(tag) + 8, 3)),
    )
    const curves = ['rTRC', 'gTRC', 'bTRC'].map((tag) => readCurve(profile, find(tag)))
    return { curves, columns }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Converts pixels, 8 bits per channel, to sRGB in place. Clips colours outside sRGB. */
export function convertToSrgb(
  pixels: Uint8Array,
  channels: number,
  { curves, columns }: ColourSpace,
) {
  const [rr = 0, gr = 0, br = 0, rg = 0, gg = 0, bg = 0, rb = 0, gb = 0, bb = 0] = columns.flat()
  const [reds, greens, blues] = curves.map((curve) =>
    Float32Array.from({ length: 256 }, (_, value) => curve(value / 255) * STEPS),
  ) as [Float32Array, Float32Array, Float32Array]
  const encoded = Uint8ClampedArray.from(
    { length: STEPS + 1 },
    (_, step) => 255 * encodeSrgb(step / STEPS),
  )
  for (let at = 0; at < pixels.length; at += channels) {
    const red = reds[pixels[at] as number] as number
    const green = greens[pixels[at + 1] as number] as number
    const blue = blues[pixels[at + 2] as number] as number
    pixels[at] = encoded[clip(rr * red + rg * green + rb * blue)] as number
    pixels[at + 1] = encoded[clip(gr * red + gg * green + gb * blue)] as number
    pixels[at + 2] = encoded[clip(br * red + bg * green + bb * blue)] as number
  }
}

function clip(light: number): number {
  return light <= 0 ? 0 : light >= STEPS ? STEPS : (light + 0.5) | 0
}

/** IEC 61966-2-1, for values from 0 to 1. */
function decodeSrgb(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

function encodeSrgb(light: number): number {
  return light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055
}

/** ITU-R BT.2100, table 4, in cd/m². */
function decodePq(value: number): number {
  const root = value ** (1 / 78.84375)
  const light = Math.max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)
  return 10_000 * light ** (1 / 0.1593017578125)
}

/** ITU-R BT.2100, table 5, on a display of 1,000 cd/m². */
function decodeHlg(value: number): number {
  const high = (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
  return 1_000 * (value <= 0.5 ? value ** 2 / 3 : high) ** 1.2
}

function compressHdr(brightness: number): number {
  const light = brightness / HDR_WHITE
  const headroom = 1 - HDR_KNEE
  return light <= HDR_KNEE ? light : 1 - headroom ** 2 / (headroom + light - HDR_KNEE)
}

/** A table, an exponent or one of five functions (ICC.1:2022, sections 10.6 and 10.18). */
function readCurve(profile: Buffer, start: number): Curve {
  const count = profile.readUInt32BE(start + 8)
  if (profile.toString('latin1', start, start + 4) === 'para') {
    // The third function is not used in practice. For it and unknown ones, reading beyond the profile throws.
    const size = [1, 3, profile.length, 5, 7][count >>> 16] ?? profile.length
    const numbers = readNumbers(profile, start + 12, size)
    const [gamma = 1, a = 1, b = 0, c = 0, d = -b / a, e = 0, f = 0] = numbers
    return (value) => (value < d ? c * value + f : (a * value + b) ** gamma + e)
  }
  const table = Array.from({ length: count }, (_, at) => profile.readUInt16BE(start + 12 + 2 * at))
  const [first = 256] = table
  if (count < 2) return (value) => value ** (first / 256)
  return (value) => {
    const at = Math.floor(value * (count - 1))
    const [below = 0, above = below] = table.slice(at)
    return (below + (value * (count - 1) - at) * (above - below)) / 65_535
  }
}

function readNumbers(profile: Buffer, start: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => profile.readInt32BE(start + 4 * at) / 65_536)
}

function transform(matrix: readonly Vector[], [x = 0, y = 0, z = 0]: Vector): Vector {
  return matrix.map(([a = 0, b = 0, c = 0]) => a * x + b * y + c * z)
}

function determinant([
  [a = 0, b = 0, c = 0] = [],
  [d = 0, e = 0, f = 0] = [],
  last = [],
]: Vector[]) {
  const [g = 0, h = 0, i = 0] = last
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
}

function isClose(a: number, b = 0): boolean {
  return Math.abs(a - b) < 0.005
}
