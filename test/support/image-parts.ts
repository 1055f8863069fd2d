const PNG_START = 8

/** A PNG with more chunks before its palette and pixels. */
export function withPngChunks(png: Buffer, chunks: [type: string, data: Buffer][]): Buffer {
  const end = PNG_START + 25
  return Buffer.concat([
    png.subarray(0, end),
    ...chunks.map(([type, data]) => pngChunk(type, data)),
    png.subarray(end),
  ])
}

/** A JPEG with more segments before its tables. */
export function withJpegSegments(jpeg: Buffer, segments: [marker: number, data: Buffer][]): Buffer {
  const made = segments.map(([marker, data]) => {
    const head = Buffer.from([0xff, marker, 0, 0])
    head.writeUInt16BE(data.length + 2, 2)
    return Buffer.concat([head, data])
  })
  return Buffer.concat([jpeg.subarray(0, 2), ...made, jpeg.subarray(2)])
}

/** The names of a PNG's chunks. */
export function pngChunkNames(png: Buffer): string[] {
  const names = []
  for (let at = PNG_START; at < png.length; at += 12 + png.readUInt32BE(at)) {
    names.push(png.toString('latin1', at + 4, at + 8))
  }
  return names
}

/** Numbers of 4 bytes, as in gAMA and cHRM. */
export function uint32s(...values: number[]): Buffer {
  const data = Buffer.alloc(4 * values.length)
  values.forEach((value, at) => {
    data.writeUInt32BE(value, 4 * at)
  })
  return data
}

function pngChunk(type: string, data: Buffer): Buffer {
  const typeAndData = Buffer.concat([Buffer.from(type), data])
  return Buffer.concat([uint32s(data.length), typeAndData, uint32s(Bun.hash.crc32(typeAndData))])
}
