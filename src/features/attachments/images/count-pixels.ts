import { open } from 'node:fs/promises'
import { readParts } from './containers.ts'

/** The pixel count assumed for an image of unknown size: the maximum allowed. */
const UNKNOWN_SIZE_PIXELS = 64_000_000
const HEAD_BYTES = 64 * 1024

/** The number of pixels that an image claims to have, used only to share the image workers fairly. */
export async function countPixels(path: string): Promise<number> {
  await using file = await open(path)
  const buffer = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await file.read(buffer, 0, HEAD_BYTES, 0)
  try {
    const [width, height] = readDimensions(buffer.subarray(0, bytesRead)) ?? []
    return width && height ? width * height : UNKNOWN_SIZE_PIXELS
  } catch (error) {
    // The size lies beyond the bytes that were read.
    if (error instanceof RangeError) return UNKNOWN_SIZE_PIXELS
    throw error
  }
}

function readDimensions(head: Buffer): [number, number] | null {
  const word = (at: number) => head.toString('latin1', at, at + 4)
  if (word(12) === 'IHDR') return [head.readUInt32BE(16), head.readUInt32BE(20)]
  if (word(8) === 'WEBP') return readWebpSize(head, word(12))
  if (word(4) === 'ftyp') return largestSizeInHeic(head)
  return head.readUInt16BE(0) === 0xffd8 ? readJpegSize(head) : null
}

/** RFC 9649, section 2. */
function readWebpSize(head: Buffer, chunk: string): [number, number] | null {
  if (chunk === 'VP8X') return [head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1]
  if (chunk === 'VP8 ') return [head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff]
  if (chunk !== 'VP8L') return null
  const bits = head.readUInt32LE(21)
  return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1]
}

/** Reads the first frame header. C4, C8 and CC lie in the range of frame markers but start no frame. */
function readJpegSize(head: Buffer): [number, number] | null {
  const frame = readParts(head, 'jpeg', /^c[^48c]/).at(-1)
  return frame ? [frame.bytes.readUInt16BE(7), frame.bytes.readUInt16BE(5)] : null
}

/** A HEIC file lists the sizes of its tiles, thumbnails and images. */
function largestSizeInHeic(head: Buffer): [number, number] | null {
  let largest: [number, number] | null = null
  for (let at = head.indexOf('ispe'); at >= 0; at = head.indexOf('ispe', at + 4)) {
    const size: [number, number] = [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)]
    if (largest === null || size[0] * size[1] > largest[0] * largest[1]) largest = size
  }
  return largest
}
