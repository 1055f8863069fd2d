import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { uploadBody } from '../../support/attachments.ts'
import { heicOf, QUADRANTS } from '../../support/heic.ts'

test('mutated HEIC files never crash the server, and the next image is processed', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const seeds = [QUADRANTS, heicOf({ grid: [3, 2], turns: 3 })]
  let random = 7
  const randomBelow = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random % below
  }
  for (let at = 0; at < 16; at++) {
    const mutant = Buffer.from(seeds[at % 2] as Buffer)
    for (let flips = 0; flips < 1 + (at % 6); flips++)
      mutant[20 + randomBelow(mutant.length - 20)] = randomBelow(256)
    const { status } = await uploadBody(app, token, mutant, 'image/heic', 'publicAsset')
    expect([200, 415, 422]).toContain(status)
  }
  const good = await uploadBody(app, token, QUADRANTS, 'image/heic', 'publicAsset')
  expect(good.status).toBe(200)
}, 60_000)
