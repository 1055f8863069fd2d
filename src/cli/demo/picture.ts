import { encodePng } from '../../lib/files/png.ts'
import type { Services } from '../../server/services.ts'

export async function stagePicture({ staging }: Services, index: number) {
  const bytes = createGradient(256, index * 40)
  const tooLarge = () => new Error('the demo image is too large')
  return await staging.receive(chunks(bytes), bytes.length, tooLarge)
}

async function* chunks(bytes: Uint8Array) {
  yield bytes
}

/** A square PNG with a colour gradient. */
function createGradient(side: number, shade: number): Buffer {
  const rows = Buffer.alloc(side * (1 + side * 3))
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++)
      rows.set([x, (y + shade) % 256, 200], y * (1 + side * 3) + 1 + x * 3)
  }
  return encodePng({ width: side, height: side, bitDepth: 8, colorType: 2 }, rows)
}
