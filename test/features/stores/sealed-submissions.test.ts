import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'

test('sealed purchases may be as large as plain ones', async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  const { accessToken: token } = await app.register()
  const purchase = { store: 'app_store', signedTransaction: 'x'.repeat(12_000) }
  const json = { purchases: Array.from({ length: 20 }, () => purchase) }
  expect((await app.ask('POST', '/api/user/purchases/v1', { token, json })).status).toBe(200)
})
