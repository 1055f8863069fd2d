export type ImageFormat = 'jpeg' | 'png' | 'webp'

type Container = {
  start: number
  /** The name and the size of the part at an offset. */
  read: (file: Buffer, at: number) => [name: string, size: number]
  /** The parts that pixels and their colours need. */
  kept: RegExp
  last: RegExp
}

const CONTAINERS: Record<ImageFormat, Container> = {
  png: {
    start: 8,
    read: (file, at) => [file.toString('latin1', at + 4, at + 8), 12 + file.readUInt32BE(at)],
    kept: /^(IHDR|PLTE|tRNS|IDAT|IEND|cICP|iCCP|sRGB|gAMA|cHRM|sBIT)$/,
    last: /IEND/,
  },
  webp: {
    start: 12,
    read: (file, at) => {
      const size = file.readUInt32LE(at + 4)
      return [file.toString('latin1', at, at + 4), 8 + size + (size % 2)]
    },
    kept: /^(VP8X|VP8 |VP8L|ALPH|ICCP)$/,
    last: /VP8[ L]/,
  },
  // A JFIF segment of another length contains a preview.
  jpeg: {
    start: 2,
    read: readSegment,
    kept: /^([cd].|e0JFIF\0.{9}|e2ICC_PROFILE\0.*|eeAdobe.{7})$/s,
    last: /^d9/,
  },
}
/** Flags in the header of an extended WebP. */
const EXIF_AND_XMP = 0x0c

/** Removes metadata and any data after the image. Returns null if the structure is unexpected. */
export function removeMetadata(file: Buffer, format: ImageFormat): Buffer | null {
  try {
    const { start, kept } = CONTAINERS[format]
    const parts = readParts(file, format).filter(({ name }) => kept.test(name))
    const result = Buffer.concat([file.subarray(0, start), ...parts.map(({ bytes }) => bytes)])
    if (format === 'webp') result.writeUInt32LE(result.length - 8, 4)
    if (parts[0]?.name === 'VP8X') result.writeUInt8(result.readUInt8(20) & ~EXIF_AND_XMP, 20)
    return result
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The chunks or segments of an image, up to `last`. */
export function readParts(
  file: Buffer,
  format: ImageFormat,
  last = CONTAINERS[format].last,
): { name: string; bytes: Buffer }[] {
  const { start, read } = CONTAINERS[format]
  const parts = []
  for (let at = start; ; ) {
    const [name, size] = read(file, at)
    parts.push({ name, bytes: file.subarray(at, at + size) })
    if (last.test(name)) return parts
    at += size
  }
}

/** A JPEG segment with the coded data after it, named by its marker and the beginning of its content. */
function readSegment(file: Buffer, at: number): [name: string, size: number] {
  const [prefix, marker] = [file.readUInt8(at), file.readUInt8(at + 1)]
  if (prefix !== 0xff) throw new RangeError('a marker is missing')
  if (marker === 0xff) return ['fill', 1]
  if (marker === 0xd9) return ['d9', 2]
  let end = at + 2 + file.readUInt16BE(at + 2)
  const content = marker < 0xe0 ? '' : file.toString('latin1', at + 4, Math.min(end, at + 19))
  // In coded data, each FF is followed by a zero or a restart number.
  while (marker === 0xda && (file.readUInt8(end) !== 0xff || isCoded(file.readUInt8(end + 1)))) {
    end = file.indexOf(0xff, end + 1)
  }
  return [marker.toString(16) + content, end - at]
}

function isCoded(next: number): boolean {
  return next === 0 || (next & 0xf8) === 0xd0
}
