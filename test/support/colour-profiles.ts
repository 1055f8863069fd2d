/** How an ICC profile describes the curve of its channels. */
type Curve = { gamma: number } | { parameters: number[] } | { table: number[] }

/** The curve of sRGB as a parametric function (ICC.1:2022, section 10.18). */
export const SRGB_CURVE = { parameters: [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045] }
/** The XYZ of red, green and blue, for the white D50. */
export const SRGB_PRIMARIES = [
  [0.43607, 0.22249, 0.01392],
  [0.38515, 0.71689, 0.09708],
  [0.14307, 0.06061, 0.7141],
]
export const P3_PRIMARIES = [
  [0.51512, 0.2412, -0.00105],
  [0.29198, 0.69225, 0.04189],
  [0.1571, 0.06657, 0.78407],
]
export const ADOBE_PRIMARIES = [
  [0.60974, 0.31111, 0.01947],
  [0.20528, 0.62567, 0.06087],
  [0.14919, 0.06322, 0.74457],
]

/** An ICC profile, version 2, with a curve for all channels. */
export function profileOf(description: string, primaries: number[][], curve: Curve): Buffer {
  const text = Buffer.alloc(4 * Math.ceil((12 + description.length + 1 + 78) / 4))
  text.write('desc')
  text.writeUInt32BE(description.length + 1, 8)
  text.write(description, 12)
  const tags: [name: string, data: Buffer][] = [
    ['desc', text],
    ['wtpt', xyz([0.9642, 1, 0.8249])],
    ...primaries.map((primary, at): [string, Buffer] => [`${'rgb'[at]}XYZ`, xyz(primary)]),
    ...['rTRC', 'gTRC', 'bTRC'].map((name): [string, Buffer] => [name, curveOf(curve)]),
  ]
  const header = Buffer.alloc(132 + 12 * tags.length)
  header.write('\x02\x40\0\0mntrRGB XYZ ', 8, 'latin1')
  header.write('acsp', 36)
  xyz([0.9642, 1, 0.8249]).copy(header, 68, 8)
  header.writeUInt32BE(tags.length, 128)
  let end = header.length
  tags.forEach(([name, data], at) => {
    header.write(name, 132 + 12 * at)
    header.writeUInt32BE(end, 136 + 12 * at)
    header.writeUInt32BE(data.length, 140 + 12 * at)
    end += data.length
  })
  header.writeUInt32BE(end, 0)
  return Buffer.concat([header, ...tags.map(([, data]) => data)])
}

function curveOf(curve: Curve): Buffer {
  if ('gamma' in curve) return numbers('curv', [1], [curve.gamma * 256])
  if ('table' in curve) {
    const entries = curve.table.map((value) => value * 65_535)
    return numbers('curv', [curve.table.length], entries)
  }
  const kind = { 1: 0, 3: 1, 4: 2, 5: 3, 7: 4 }[curve.parameters.length] ?? 0
  return fixed('para', [kind], curve.parameters)
}

function xyz(values: number[]): Buffer {
  return fixed('XYZ ', [], values)
}

/** Fixed-point numbers of 4 bytes after one of 2 bytes, if any. */
function fixed(type: string, [kind]: number[], values: number[]): Buffer {
  const start = kind === undefined ? 8 : 12
  const data = Buffer.alloc(start + 4 * values.length)
  data.write(type)
  if (kind !== undefined) data.writeUInt16BE(kind, 8)
  values.forEach((value, at) => {
    data.writeInt32BE(Math.round(value * 65_536), start + 4 * at)
  })
  return data
}

/** Numbers of 2 bytes after one of 4 bytes, padded to 4 bytes. */
function numbers(type: string, [count = 0]: number[], values: number[]): Buffer {
  const data = Buffer.alloc(12 + 4 * Math.ceil(values.length / 2))
  data.write(type)
  data.writeUInt32BE(count, 8)
  values.forEach((value, at) => {
    data.writeUInt16BE(Math.round(value), 12 + 2 * at)
  })
  return data
}
