import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp } from '../../support/app.ts'
import { uploadForm } from '../../support/attachments.ts'
import { bombPng } from '../../support/pictures.ts'

test('a webhook announces a file of a support ticket, and the server API returns its URL', async () => {
  await using app = await createTestApp()
  const { user, accessToken } = await app.register()
  await app.services.webhooks.endpoints.add({ url: 'https://example.com', events: ['file.added'] })
  const { webhookMessages } = app.services.db.tables
  const announced = async () => {
    const rows = await app.services.db.read.select().from(webhookMessages)
    return rows.map(({ data }) => JSON.parse(data))
  }
  const upload = (type: string, name: string, content: Buffer | string) =>
    uploadForm(app, accessToken, [[name, content]], { type })
  expect((await upload('publicAsset', 'avatar.png', await bombPng(8))).status).toBe(200)
  expect(await announced()).toEqual([])
  app.clock.advance(1_000)
  expect((await upload('supportTicket', 'report.txt', 'what went wrong')).status).toBe(200)
  const file = { type: 'supportTicket', fileName: 'report.txt', itemType: 'text/plain', size: 15 }
  expect(await announced()).toMatchObject([{ userId: user._id, file }])
  const ask = await serverClient(app)
  const { json } = await ask('GET', `users/v1/${user._id}/files?limit=1`)
  expect(json.response).toMatchObject([file])
  expect(typeof json.next).toBe('string')
  const { pathname, search } = new URL(json.response[0].url)
  expect((await app.ask('GET', pathname + search)).text).toBe('what went wrong')
  expect((await ask('GET', 'users/v1/unknown/files')).status).toBe(404)
})
