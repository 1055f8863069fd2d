import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** 512 × 256 pixels: muted red and green above blue and white. Made by `heif-enc -q 60` of libheif. */
export const QUADRANTS = readFileSync(join(import.meta.dir, '../fixtures/pictures/quadrants.heic'))

export type HeicShape = {
  /** Quarter turns counterclockwise (`irot`). */
  turns?: number
  /** `imir`: 0 swaps top and bottom, 1 left and right. */
  mirror?: 0 | 1
  /** Stores the picture as a grid of tiles, as phones do. */
  grid?: [columns: number, rows: number]
  /** A false size for the header. */
  size?: [width: number, height: number]
  /** Whether the primary picture is the second one in the file. */
  isSecond?: boolean
  /** A TIFF block with Exif data. */
  exif?: Buffer
  iccProfile?: Buffer
  /** The code points of primaries and transfer function (ITU-T H.273). */
  nclx?: [primaries: number, transfer: number]
  /** A file of `heif-enc` whose picture is used instead of the quadrants, and its size. */
  source?: { file: Buffer; width: number; height: number }
}

type Item = {
  type: string
  data: Buffer
  properties: number[]
  references?: [string, number[]]
  isHidden?: boolean
}

/** A HEIC file of the quadrants, structured as `shape` says (ISO/IEC 23008-12). */
export function heicOf(shape: HeicShape): Buffer {
  const { grid, exif } = shape
  const source = shape.source ?? { file: QUADRANTS, width: 512, height: 256 }
  const [columns, rows] = grid ?? [1, 1]
  const [width, height] = shape.size ?? [columns * source.width, rows * source.height]
  const properties = [
    boxIn(source.file, 'hvcC'),
    fullBox('ispe', 0, uint32(source.width), uint32(source.height)),
    fullBox('ispe', 0, uint32(width), uint32(height)),
  ]
  const primaryProperties = grid ? [3] : [1, 3]
  const add = (property: Buffer) => primaryProperties.push(properties.push(property))
  if (shape.iccProfile) add(box('colr', Buffer.from('prof'), shape.iccProfile))
  if (shape.nclx) {
    const codes = shape.nclx.map(uint16)
    add(box('colr', Buffer.from('nclx'), ...codes, uint16(6), Buffer.of(0x80)))
  }
  if (shape.turns !== undefined) add(box('irot', Buffer.of(shape.turns)))
  if (shape.mirror !== undefined) add(box('imir', Buffer.of(shape.mirror)))

  const pixels = boxIn(source.file, 'mdat').subarray(8)
  const tile: Item = { type: 'hvc1', data: pixels, properties: [1, 2] }
  const items: Item[] = shape.isSecond ? [tile] : []
  if (grid) {
    // Each tile has its own bytes in the file, as in a photo.
    const tiles = Array.from({ length: columns * rows }, () =>
      items.push({ ...tile, data: Buffer.from(pixels), isHidden: true }),
    )
    const data = Buffer.concat([
      Buffer.of(0, 1, rows - 1, columns - 1),
      uint32(width),
      uint32(height),
    ])
    items.push({ type: 'grid', data, properties: primaryProperties, references: ['dimg', tiles] })
  } else items.push({ type: 'hvc1', data: pixels, properties: primaryProperties })
  const primary = items.length
  if (exif) {
    const data = Buffer.concat([uint32(6), Buffer.from('Exif\0\0'), exif])
    items.push({ type: 'Exif', data, properties: [], references: ['cdsc', [primary]] })
  }
  const head = box('ftyp', Buffer.from('heic'), uint32(0), Buffer.from('mif1heic'))
  const length = head.length + metaOf(items, primary, properties, 0).length + 8
  const meta = metaOf(items, primary, properties, length)
  return Buffer.concat([head, meta, box('mdat', ...dataOf(items))])
}

/** The layout of a grid comes before its tiles, as in files of phones. */
function dataOf(items: Item[]): Set<Buffer> {
  return new Set(items.map(({ data }) => data).toReversed())
}

function metaOf(items: Item[], primary: number, properties: Buffer[], dataOffset: number): Buffer {
  const offsets = new Map<Buffer, number>()
  let end = dataOffset
  for (const data of dataOf(items)) {
    offsets.set(data, end)
    end += data.length
  }
  const info = items.map(({ type, isHidden }, at) => {
    const flags = Buffer.of(2, 0, 0, isHidden ? 1 : 0)
    return box('infe', flags, uint16(at + 1), uint16(0), Buffer.from(`${type}\0`))
  })
  const references = items.flatMap(({ references: reference }, at) => {
    if (!reference) return []
    const [type, to] = reference
    return [box(type, uint16(at + 1), uint16(to.length), ...to.map(uint16))]
  })
  const associations = items.map(({ properties: indexes }, at) =>
    Buffer.concat([
      uint16(at + 1),
      Buffer.of(indexes.length, ...indexes.map((index) => index | 0x80)),
    ]),
  )
  const locations = items.map(({ data }, at) =>
    Buffer.concat([
      ...[uint16(at + 1), uint16(0), uint16(1)],
      ...[uint32(offsets.get(data) ?? 0), uint32(data.length)],
    ]),
  )
  return fullBox(
    'meta',
    0,
    fullBox('hdlr', 0, uint32(0), Buffer.from('pict'), Buffer.alloc(13)),
    fullBox('pitm', 0, uint16(primary)),
    fullBox('iloc', 0, Buffer.of(0x44, 0), uint16(items.length), ...locations),
    fullBox('iinf', 0, uint16(items.length), ...info),
    ...(references.length > 0 ? [fullBox('iref', 0, ...references)] : []),
    box(
      'iprp',
      box('ipco', ...properties),
      fullBox('ipma', 0, uint32(items.length), ...associations),
    ),
  )
}

/** The first box of a type at any depth. */
function boxIn(file: Buffer, type: string): Buffer {
  const start = file.indexOf(type) - 4
  return file.subarray(start, start + file.readUInt32BE(start))
}

function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([uint32(body.length + 8), Buffer.from(type), body])
}

function fullBox(type: string, version: number, ...content: Buffer[]): Buffer {
  return box(type, Buffer.of(version, 0, 0, 0), ...content)
}

function uint16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 255)
}

function uint32(value: number): Buffer {
  return Buffer.concat([uint16(value >>> 16), uint16(value & 0xffff)])
}
