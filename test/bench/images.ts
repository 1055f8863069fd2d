import { join } from 'node:path'
import sharp from 'sharp'
import { median } from './median.ts'
import { startHomeport } from './servers.ts'

type Setting = { name: string; query: string; quality: number; longSide: number }

const SETTINGS: Setting[] = [
  { name: 'full size', query: 'targetType=webp', quality: 90, longSide: 8192 },
  {
    name: 'compressed',
    query: 'targetType=webp&compression=true',
    quality: 80,
    longSide: 2560,
  },
]

/** Uploads of a 12 MP JPEG that become WebP, against sharp alone with the same options. */
export async function benchImages(folder: string, rounds: number, token: string, dataDir: string) {
  const photo = join(folder, 'photo.jpg')
  await makePhoto(photo)
  const server = await startHomeport(dataDir, 4804)
  for (const { name, query, quality, longSide } of SETTINGS) {
    const ours: number[] = []
    const bare: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const uploading = await timed(() => upload(server.port, token, query, photo))
      const converting = await timed(() => convert(photo, quality, longSide))
      // The first round starts the worker and warms both up.
      if (round > 0) ours.push(uploading)
      if (round > 0) bare.push(converting)
    }
    const ratio = median(bare.map((time, round) => time / (ours[round] ?? Number.NaN)))
    const figures = `${median(ours).toFixed(0)} ms against ${median(bare).toFixed(0)} ms`
    console.log(
      `image, 12 MP to WebP, ${name}: ${ratio.toFixed(2)} of bare (floor 0.9) — ${figures}`,
    )
  }
  await server.stop()
}

async function upload(port: number, token: string, query: string, photo: string) {
  const url = `http://127.0.0.1:${port}/api/user/attachments/v1?type=publicAsset&${query}`
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/jpeg' },
    body: Bun.file(photo),
  })
  if (reply.status !== 200) throw new Error(`an upload was answered ${await reply.text()}`)
}

async function convert(photo: string, quality: number, longSide: number) {
  await sharp(photo)
    .autoOrient()
    .resize({ width: longSide, height: longSide, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .webp({ quality })
    .toFile(`${photo}.webp`)
}

/** 4,000 × 3,000 pixels with shapes, a gradient and the noise of a sensor. */
async function makePhoto(path: string) {
  const [width, height] = [4_000, 3_000]
  const pixels = Buffer.alloc(width * height * 3)
  let noise = 1
  for (let at = 0; at < pixels.length; at++) {
    noise = (noise * 1_103_515_245 + 12_345) % 2_147_483_648
    const x = Math.floor(at / 3) % width
    const y = Math.floor(at / 3 / width)
    const shape = 80 * Math.sin(x / (40 + (at % 3) * 30)) * Math.cos(y / 60)
    pixels[at] = 90 + shape + (x * 50) / width + (noise % 24)
  }
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 92 })
    .toFile(path)
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
