import sharp from 'sharp'
import type { World } from './client.ts'
import type { Interface } from './generator.ts'

/** A server that runs. */
export type Contender = {
  name: string
  pid: number
  port: number
  /** How it hashes, syncs and converts, in one line. */
  about: string
  speaks: Interface
  /** Makes its people and pictures. */
  prepare: () => Promise<World>
  stop: () => Promise<void>
  /** What its database holds; to be called once it has stopped. */
  countStored: () => { events: number; uploads: number }
}

/** How much is stored before the load: people with a session and a line each, and pictures. */
export type Size = { people: number; pictures: number }

/**
 * A picture as an app scales it before it sends it: 800 × 600 pixels, 250 KB, with shapes and the noise of a sensor.
 * A larger one takes all of the 100 ms to convert, on an idle machine.
 */
export async function makePhoto(path: string) {
  const [width, height] = [800, 600]
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
