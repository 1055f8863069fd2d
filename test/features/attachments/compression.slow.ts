import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { uploadForm } from '../../support/attachments.ts'
import { noise } from '../../support/pictures.ts'

test('explains what to choose when a PNG would be too large', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await noise(4_000, 3_000).jpeg({ quality: 60 }).toBuffer()
  const query = { type: 'publicAsset', targetType: 'png' }
  const { status, json } = await uploadForm(app, token, [['a.jpg', photo]], query)
  expect([status, json.code]).toEqual([422, 'image_too_large'])
  expect(json.message).toBe(
    'The converted image would exceed 25 MiB: choose another targetType (webp is the smallest) or compression=true.',
  )
  for (const choice of [{ targetType: 'webp' }, { targetType: 'png', compression: 'true' }]) {
    const reply = await uploadForm(app, token, [['a.jpg', photo]], { ...query, ...choice })
    expect([choice, reply.status]).toEqual([choice, 200])
  }
}, 30_000)
