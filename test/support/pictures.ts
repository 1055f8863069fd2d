import sharp from 'sharp'
import { encodePng } from '../../src/lib/files/png.ts'

/** A JPEG like those of phones: rotated (orientation 6), with GPS data and an ICC profile. */
export async function phonePhoto(width = 400, height = 300): Promise<Buffer> {
  // Generating full-size noise would take seconds.
  return noise(400, 300)
    .resize(width, height, { fit: 'fill' })
    .withExif({
      IFD0: { Make: 'CanaryPhone', Orientation: '6' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 30/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 92 })
    .toBuffer()
}

/** An image that compresses badly. */
export function noise(width: number, height: number) {
  return sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  })
}

/** A single-colour square PNG: many pixels in a few bytes. */
export async function bombPng(side: number): Promise<Buffer> {
  return sharp({
    create: { width: side, height: side, channels: 3, background: '#fff' },
    limitInputPixels: false,
  })
    .png({ compressionLevel: 9 })
    .toBuffer()
}

/** A 1-bit PNG of any dimensions. It has few bytes if identical rows compress well. */
export function oneBitPng(width: number, height: number, byteAt = (_at: number) => 0): Buffer {
  const row = 1 + Math.ceil(width / 8)
  // The first byte of a row is its filter.
  const rows = Buffer.alloc(row * height)
  rows.forEach((_, at) => {
    if (at % row > 0) rows[at] = byteAt(at)
  })
  return encodePng({ width, height, bitDepth: 1, colorType: 0 }, rows)
}
