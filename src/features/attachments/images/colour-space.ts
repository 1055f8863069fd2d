/** Converts a red, green or blue value from 0 to 1 to linear light. */
type Curve = (value: number) => number
type Matrix = readonly (readonly number[])[]

/** A colour space of three primaries. */
export type ColourSpace = {
  curves: readonly Curve[]
  /** Converts linear red, green and blue to those of sRGB. */
  toSrgb: Matrix
}

/** Linear light is rounded to this many steps; the darkest sRGB values are 1 / 3,295 apart. */
const STEPS = 16_384
/** The colours of ICC profiles (XYZ with the white D50) to linear sRGB. */
const D50_TO_SRGB = [
  [3.1341359, -1.617386, -0.4906622],
  [-0.9787955, 1.9162544, 0.0334429],
  [0.0719554, -0.2289768, 1.405386],
]
/** XYZ to linear sRGB. */
const D65_TO_SRGB = [
  [3.2409699, -1.5373832, -0.4986108],
  [-0.9692436, 1.8759675, 0.0415551],
  [0.0556301, -0.203977, 1.0569715],
]
/** The x and y of red, green and blue, by code point (ITU-T H.273, table 2). */
const PRIMARIES: Record<number, readonly number[]> = {
  1: [0.64, 0.33, 0.3, 0.6, 0.15, 0.06],
  9: [0.708, 0.292, 0.17, 0.797, 0.131, 0.046],
  11: [0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
  12: [0.68, 0.32, 0.265, 0.69, 0.15, 0.06],
}
/** By code point (table 3). The others are like sRGB, or for video, which viewers show like sRGB. */
const CURVES: Record<number, Curve> = {
  4: (value) => value ** 2.2,
  5: (value) => value ** 2.8,
  8: (value) => value,
  16: decodePq,
  18: decodeHlg,
}
/** The brightness of white paper on an HDR display, in cd/m² (ITU-R BT.2408). */
const HDR_WHITE = 203
/** Compresses light above this part of white. */
const HDR_KNEE = 0.75

const SRGB_POINTS = PRIMARIES[1] as readonly number[]
/** The colour space of the code points in HEIC and PNG files; null for sRGB. */
export function spaceOfCodePoints(primaries: number, transfer: number): ColourSpace | null {
  const curve = CURVES[transfer] ?? decodeSrgb
  const points = PRIMARIES[primaries] ?? SRGB_POINTS
  return curve === decodeSrgb && points === SRGB_POINTS ? null : spaceOf(points, curve)
}

/** The space of primaries, x and y of each, whose sum is the white of sRGB. */
export function spaceOf(points: readonly number[], curve: Curve): ColourSpace {
  const columns = [0, 2, 4].map((at) => {
    const [x = 0, y = 1] = points.slice(at)
    return transform(D65_TO_SRGB, [x / y, 1, (1 - x - y) / y])
  })
  const [red = [], green = [], blue = []] = columns
  // Cramer's rule: how much of each primary makes white.
  const parts = [cross(green, blue), cross(blue, red), cross(red, green)]
  const determinant = dot(red, parts[0] ?? [])
  const scales = parts.map((part) => dot(part, [1, 1, 1]) / determinant)
  const toSrgb = [0, 1, 2].map((row) =>
    columns.map((column, at) => (column[row] ?? 0) * (scales[at] ?? 0)),
  )
  return { curves: [curve, curve, curve], toSrgb }
}

/** The space of an ICC profile; null if primaries and curves do not define it. */
export function spaceOfProfile(profile: Buffer): ColourSpace | null {
  try {
    const columns = ['rXYZ', 'gXYZ', 'bXYZ'].map((tag) =>
      transform(D50_TO_SRGB, readNumbers(profile, findTag(profile, tag) + 8, 3)),
    )
    const curves = ['rTRC', 'gTRC', 'bTRC'].map((tag) => readCurve(profile, findTag(profile, tag)))
    return { curves, toSrgb: [0, 1, 2].map((row) => columns.map((column) => column[row] ?? 0)) }
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Converts pixels, 8 bits per channel, to sRGB in place. Clips colours outside sRGB. */
export function convertToSrgb(pixels: Uint8Array, channels: 3 | 4, space: ColourSpace) {
  const [rr = 0, rg = 0, rb = 0, gr = 0, gg = 0, gb = 0, br = 0, bg = 0, bb = 0] =
    space.toSrgb.flat()
  const linear = space.curves.map((curve) =>
    Float32Array.from({ length: 256 }, (_, value) => curve(value / 255) * STEPS),
  )
  const [reds, greens, blues] = linear as [Float32Array, Float32Array, Float32Array]
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
export function decodeSrgb(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

function encodeSrgb(light: number): number {
  return light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055
}

/** ITU-R BT.2100, table 4. */
function decodePq(value: number): number {
  const root = value ** (1 / 78.84375)
  const light = Math.max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)
  return compressHdr(10_000 * light ** (1 / 0.1593017578125))
}

/** ITU-R BT.2100, table 5, on a display of 1,000 cd/m². */
function decodeHlg(value: number): number {
  const scene =
    value <= 0.5 ? value ** 2 / 3 : (Math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
  return compressHdr(1_000 * scene ** 1.2)
}

function compressHdr(brightness: number): number {
  const light = brightness / HDR_WHITE
  const room = 1 - HDR_KNEE
  return light <= HDR_KNEE ? light : 1 - room ** 2 / (room + light - HDR_KNEE)
}

function readCurve(profile: Buffer, start: number): Curve {
  const count = profile.readUInt32BE(start + 8)
  if (profile.toString('latin1', start, start + 4) === 'para') {
    return readFunction(profile, start + 12, profile.readUInt16BE(start + 8))
  }
  if (count === 0) return (value) => value
  const entry = (at: number) => profile.readUInt16BE(start + 12 + 2 * Math.min(at, count - 1))
  const gamma = entry(0) / 256
  if (count === 1) return (value) => value ** gamma
  // The largest entry, so that a damaged table fails here.
  entry(count - 1)
  return (value) => {
    const at = value * (count - 1)
    const below = Math.floor(at)
    return (entry(below) + (at - below) * (entry(below + 1) - entry(below))) / 65_535
  }
}

/** One of five functions with one to seven parameters. */
function readFunction(profile: Buffer, start: number, kind: number): Curve {
  const numbers = readNumbers(profile, start, [1, 3, 4, 5, 7][kind] ?? 1)
  const [gamma = 1, a = 1, b = 0, c = 0, d = -b / a, e = 0, f = 0] = numbers
  if (kind === 2) return (value) => (value < d ? 0 : (a * value + b) ** gamma) + c
  return (value) => (value < d ? c * value + f : (a * value + b) ** gamma + e)
}

function findTag(profile: Buffer, name: string): number {
  const count = profile.readUInt32BE(128)
  const end = Math.min(132 + 12 * count, profile.length)
  for (let at = 132; at < end; at += 12) {
    if (profile.toString('latin1', at, at + 4) === name) return profile.readUInt32BE(at + 4)
  }
  throw new RangeError(`the profile has no ${name}`)
}

function readNumbers(profile: Buffer, start: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => profile.readInt32BE(start + 4 * at) / 65_536)
}

function transform(matrix: Matrix, vector: readonly number[]): number[] {
  return matrix.map((row) => dot(row, vector))
}

function dot([a = 0, b = 0, c = 0]: readonly number[], [d = 0, e = 0, f = 0]: readonly number[]) {
  return a * d + b * e + c * f
}

function cross([a = 0, b = 0, c = 0]: readonly number[], [d = 0, e = 0, f = 0]: readonly number[]) {
  return [b * f - c * e, c * d - a * f, a * e - b * d]
}
