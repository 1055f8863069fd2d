import { crc32, deflateSync } from 'node:zlib'

/** `colorType` as in RFC 2083: 0 is grey, 2 is RGB. */
type PngHeader = { width: number; height: number; bitDepth: number; colorType: number }

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10])

/** Encodes raw rows, each preceded by its filter byte, as a PNG file. */
export function encodePng({ width, height, bitDepth, colorType }: PngHeader, rows: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([bitDepth, colorType], 8)
  const data = deflateSync(rows, { level: 9 })
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND')])
}

function chunk(type: string, data = Buffer.alloc(0)): Buffer {
  const typeAndData = Buffer.concat([Buffer.from(type), data])
  const framed = Buffer.alloc(typeAndData.length + 8)
  framed.writeUInt32BE(data.length, 0)
  typeAndData.copy(framed, 4)
  framed.writeUInt32BE(crc32(typeAndData), typeAndData.length + 4)
  return framed
}
