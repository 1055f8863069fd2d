import { expect, test } from 'bun:test'
import sharp from 'sharp'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, uploadBody } from '../../support/attachments.ts'
import { cases } from '../../support/cases.ts'
import { fault } from '../../support/fault.ts'
import { noise, phonePhoto } from '../../support/pictures.ts'
import { readWorkerUsage } from '../../support/watch.ts'

test('makes the largest PNG variant within the time limit', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const raw = { width: 64, height: 64, channels: 3 } as const
  const spots = sharp(crypto.getRandomValues(Buffer.alloc(64 * 64 * 3)), { raw })
  const image = await spots.resize(2_048).webp().toBuffer()
  const { json } = await uploadBody(app, token, image, 'image/webp', 'publicAsset')
  const variant = await fetchFile(app, `${json.response[0].url}?width=2048&format=png`)
  expect([variant.status, variant.headers.get('content-type')]).toEqual([200, 'image/png'])
}, 30_000)

test(`an animation or a text-chunk bomb yields at most one image and uses little memory ${fault(103, 110)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  await uploadPhoto(app, token)
  const before = readWorkerUsage()
  const pages = await Promise.all(Array.from({ length: 40 }, () => noise(20, 20).png().toBuffer()))
  const frames = await sharp(pages, { join: { animated: true } })
    .webp({ loop: 0 })
    .toBuffer()
  const first = await uploadBody(app, token, frames, 'image/webp', 'publicAsset')
  expect(first.status).toBe(200)
  const bytes = await (await fetchFile(app, first.json.response[0].url)).arrayBuffer()
  expect((await sharp(bytes, { pages: -1 }).metadata()).pages ?? 1).toBe(1)
  const bomb = withTextBomb(await noise(20, 20).png().toBuffer())
  const reply = await uploadBody(app, token, bomb, 'image/png', 'publicAsset')
  expect([200, 422]).toContain(reply.status)
  const after = readWorkerUsage()
  expect(after.memory - before.memory).toBeLessThan(25e6)
  expect(after.time - before.time).toBeLessThan(500)
}, 30_000)

test(`mutated images never crash the server, and no result has metadata ${fault(107)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const seeds = [
    await phonePhoto(60, 40),
    await noise(60, 40).png().toBuffer(),
    await noise(60, 40).webp().toBuffer(),
  ]
  let random = 7
  const randomBelow = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random % below
  }
  const send = async (at: number) => {
    const mutant = Buffer.from(seeds[at % seeds.length] as Buffer)
    for (let flips = 0; flips < 1 + (at % 8); flips++)
      mutant[randomBelow(mutant.length)] = randomBelow(256)
    const cut = at % 5 === 0 ? mutant.subarray(0, randomBelow(mutant.length)) : mutant
    const { status, json } = await uploadBody(app, token, cut, 'image/jpeg', 'publicAsset')
    expect([200, 415, 422]).toContain(status)
    return status === 200 ? json.response[0].url : null
  }
  for (let at = 0; at < cases(40, 200); at += 4) {
    const urls = await Promise.all([0, 1, 2, 3].map((offset) => send(at + offset)))
    for (const url of urls) {
      if (url === null) continue
      const { exif, icc, xmp } = await sharp(
        await (await fetchFile(app, url)).arrayBuffer(),
      ).metadata()
      expect([exif, icc, xmp]).toEqual([undefined, undefined, undefined])
    }
  }
}, 60_000)

/** A PNG with a text chunk that inflates to 50 MB. */
function withTextBomb(png: Buffer): Buffer {
  const text = Buffer.concat([
    Buffer.from('Comment\0\0'),
    Bun.deflateSync(Buffer.alloc(50_000_000, 65)),
  ])
  const body = Buffer.concat([Buffer.from('zTXt'), text])
  const chunk = Buffer.alloc(8 + body.length)
  chunk.writeUInt32BE(text.length, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(Bun.hash.crc32(body), 4 + body.length)
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)])
}

async function uploadPhoto(app: TestApp, token: string) {
  const { json } = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  return json.response[0] as { url: string; key: string }
}
