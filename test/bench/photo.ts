import sharp from 'sharp'

/** Writes a JPEG of the given size to `path`: shapes, a gradient and sensor noise; 0.5 bytes per pixel. */
export async function makePhoto(path: string, width: number, height: number) {
  const pixels = Buffer.alloc(width * height * 3)
  let noise = 1
  for (let at = 0; at < pixels.length; at++) {
    noise = (noise * 1_103_515_245 + 12_345) % 2_147_483_648
    const x = Math.floor(at / 3) % width
    const y = Math.floor(at / 3 / width)
    const shape = 80 * Math.sin(x / (40 + (at % 3) * 30)) * Math.cos(y / 60)
    pixels[at] = 90 + shape + (x * 50) / width + ((noise >> 8) % 40)
  }
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 95 })
    .toFile(path)
}
