import sharp from 'sharp'
import { encodePng } from '../../src/lib/png.ts'

/** A JPEG as a phone makes it: lying on its side (orientation 6), with GPS data and an ICC profile. */
export async function phonePhoto(width = 400, height = 300): Promise<Buffer> {
  // Noise of full size takes seconds.
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

/** A picture that no compression makes much smaller. */
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

/** A PNG of a single colour whose header promises so many pixels in a few bytes. */
export async function bombPng(side: number): Promise<Buffer> {
  return sharp({
    create: { width: side, height: side, channels: 3, background: '#fff' },
    limitInputPixels: false,
  })
    .png({ compressionLevel: 9 })
    .toBuffer()
}

/** A grey PNG of one bit a pixel, of any shape: its rows are equal, so that it has few bytes. */
export function bombOf(width: number, height: number): Buffer {
  const row = 1 + Math.ceil(width / 8)
  return encodePng({ width, height, bitDepth: 1, colorType: 0 }, Buffer.alloc(row * height))
}
