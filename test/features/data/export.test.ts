import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'

test('the document is exported and deleted with the account', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  await app.ask('PUT', '/api/user/data/v1', { token, json: { theme: 'dark' } })
  const { db } = app.services
  const { data } = (await app.ask('GET', '/api/user/export/v1', { token })).json.response
  expect(data).toHaveLength(await db.read.$count(db.tables.userDocuments))
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(await db.read.$count(db.tables.userDocuments)).toBe(0)
})
