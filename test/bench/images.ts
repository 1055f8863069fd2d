import { join } from 'node:path'
import sharp from 'sharp'
import { median } from './median.ts'
import { makePhoto } from './photo.ts'
import { compare, http } from './rounds.ts'
import { type RunningServer, startHomeport } from './servers.ts'

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

/** Uploads of a 12 MP JPEG converted to WebP, compared to sharp alone with the same options. */
export async function benchImages(folder: string, rounds: number, token: string, dataDir: string) {
  const photo = join(folder, 'photo.jpg')
  await makePhoto(photo, 4_000, 3_000)
  const server = await startHomeport(dataDir, 4804)
  for (const { name, query, quality, longSide } of SETTINGS) {
    const ours: number[] = []
    const bare: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const uploading = await timed(() => upload(server.port, token, query, photo))
      const converting = await timed(() => convert(photo, quality, longSide))
      // The first round starts the worker and is a warm-up for both.
      if (round > 0) ours.push(uploading)
      if (round > 0) bare.push(converting)
    }
    const ratio = median(bare.map((time, round) => time / (ours[round] ?? Number.NaN)))
    const figures = `${median(ours).toFixed(0)} ms against ${median(bare).toFixed(0)} ms`
    console.log(
      `image, 12 MP to WebP, ${name}: ${ratio.toFixed(2)} × sharp (goal 0.95) — ${figures}`,
    )
  }
  await benchConcurrentUploads(server, token, photo, rounds)
  await benchFirstVariants(server, token, photo, rounds)
  await benchServing(server, token, photo, folder)
  await server.stop()
}

/** 8 concurrent uploads, compared to 8 concurrent conversions. */
async function benchConcurrentUploads(
  server: RunningServer,
  token: string,
  photo: string,
  rounds: number,
) {
  const [setting] = SETTINGS as [Setting]
  const { query, quality, longSide } = setting
  const timeEight = (work: (at: number) => Promise<void>) =>
    timed(async () => void (await Promise.all(Array.from({ length: 8 }, (_, at) => work(at)))))
  const ratios: number[] = []
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    const ours = await timeEight(() => upload(server.port, token, query, photo).then(() => {}))
    const bare = await timeEight((at) => convert(photo, quality, longSide, `${photo}-${at}.webp`))
    ratios.push(bare / ours)
  }
  console.log(`image, 12 MP to WebP, 8 at once: ${median(ratios).toFixed(2)} × sharp (goal 0.95)`)
}

/** The first 512-pixel variants of several pictures, compared to sharp alone. */
async function benchFirstVariants(
  server: RunningServer,
  token: string,
  photo: string,
  rounds: number,
) {
  const [ours, bare]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const { url } = await upload(server.port, token, 'compression=true', photo)
    const stored = `${photo}-${round}.jpg`
    await Bun.write(stored, await fetch(url))
    ours.push(
      await timed(async () => void (await (await fetch(`${url}?width=512&format=webp`)).bytes())),
    )
    bare.push(await timed(() => convert(stored, 80, 512)))
  }
  const figures = `${median(ours).toFixed(0)} ms against ${median(bare).toFixed(0)} ms of sharp`
  console.log(`512-pixel variant of a 12 MP JPEG, first request: ${figures} (goal 30 ms)`)
}

/** A cached variant and a whole file, compared to a Bun.serve route that returns the same file. */
async function benchServing(server: RunningServer, token: string, photo: string, folder: string) {
  const { url } = await upload(server.port, token, 'compression=true', photo)
  const { pathname } = new URL(url)
  const cases = { 'cached variant': `${pathname}?width=512&format=webp`, 'whole file': pathname }
  for (const [name, path] of Object.entries(cases)) {
    const bytes = await (await fetch(`http://127.0.0.1:${server.port}${path}`)).bytes()
    const copy = join(folder, `${name}.bin`)
    await Bun.write(copy, bytes)
    const program = join(import.meta.dir, 'bare-file.ts')
    const bare = Bun.spawn([process.execPath, program, '4807', copy], { stdout: 'pipe' })
    await bare.stdout.getReader().read()
    const load = { connections: 32, seconds: 3 }
    await compare(
      `${name} (${Math.round(bytes.length / 1024)} KiB)`,
      0.8,
      { ...load, port: server.port, request: http('GET', path) },
      { ...load, port: 4807, request: http('GET', '/file') },
    )
    bare.kill()
    await bare.exited
  }
}

async function upload(port: number, token: string, query: string, photo: string) {
  const url = `http://127.0.0.1:${port}/api/user/attachments/v1?type=publicAsset&${query}`
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/jpeg' },
    body: Bun.file(photo),
  })
  if (reply.status !== 200) throw new Error(`the upload failed: ${await reply.text()}`)
  const { response } = (await reply.json()) as { response: { url: string }[] }
  return response[0] as { url: string }
}

async function convert(photo: string, quality: number, longSide: number, output = `${photo}.webp`) {
  await sharp(photo)
    .autoOrient()
    .resize({ width: longSide, height: longSide, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .webp({ quality, effort: 1 })
    .toFile(output)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
