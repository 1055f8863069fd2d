import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { filesOf, uploadBody } from '../../support/attachments.ts'
import { phonePhoto } from '../../support/pictures.ts'

test('115: the last file within the quota is taken, the next one is not; so with bytes', async () => {
  await using app = await createTestApp({
    ATTACHMENT_QUOTA_COUNT: '3',
    ATTACHMENT_QUOTA_BYTES: '100',
  })
  const { accessToken: token } = await app.register()
  const send = async (size: number) => {
    const { status, json } = await uploadBody(
      app,
      token,
      'x'.repeat(size),
      'text/plain',
      'supportTicket',
    )
    return [status, json.code]
  }
  expect(await send(60)).toEqual([200, 'ok'])
  expect(await send(41)).toEqual([403, 'quota_exceeded'])
  expect(await send(39)).toEqual([200, 'ok'])
  expect(await send(1)).toEqual([200, 'ok'])
  expect(await send(1)).toEqual([403, 'quota_exceeded'])
  expect(await filesOf(app)).toHaveLength(3)
  const other = await app.register()
  const elsewhere = await uploadBody(app, other.accessToken, 'x', 'text/plain', 'supportTicket')
  expect(elsewhere.status).toBe(200)
})

test('115: parallel uploads cannot pass the quota together', async () => {
  await using app = await createTestApp({ ATTACHMENT_QUOTA_COUNT: '3' })
  const { accessToken: token } = await app.register()
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => uploadBody(app, token, 'x', 'text/plain', 'supportTicket')),
  )
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(3)
  expect(await filesOf(app)).toHaveLength(3)
})

test('an upload that comes again under its key gets the first answer and no second file', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const send = (key: string, as = token) =>
    uploadBody(app, as, 'text', 'text/plain', 'supportTicket', { 'idempotency-key': key })
  const first = await send('k-1')
  const again = await send('k-1')
  expect(again.json.response[0].key).toBe(first.json.response[0].key)
  const together = await Promise.all(Array.from({ length: 5 }, () => send('k-2')))
  expect(new Set(together.map(({ json }) => json.response[0].key)).size).toBe(1)
  expect(await filesOf(app)).toHaveLength(2)
  const other = await app.register()
  expect((await send('k-1', other.accessToken)).json.response[0].key).not.toBe(
    first.json.response[0].key,
  )
  for (const key of ['two words', 'x'.repeat(65), 'ü']) {
    expect([key, (await send(encodeURI(key) === key ? key : 'two words')).status]).toEqual([
      key,
      400,
    ])
  }
  expect((await send('x'.repeat(64))).status).toBe(200)
  app.clock.advance(24 * 3_600_000 + 1)
  const login = await app.ask('POST', '/api/auth/login/v1', {
    json: { email: user.email, password: 'correct horse battery' },
  })
  const late = await send('k-1', login.json.response.accessToken)
  expect(late.json.response[0].key).not.toBe(first.json.response[0].key)
})

test('another upload under the same key is refused, at once and later', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const send = (body: string, type = 'supportTicket') =>
    uploadBody(app, token, body, 'text/plain', type, { 'idempotency-key': 'k' })
  const together = await Promise.all([send('one'), send('two')])
  expect(together.map(({ status }) => status).toSorted()).toEqual([200, 422])
  const [won, lost] = together[0].status === 200 ? ['one', 'two'] : ['two', 'one']
  expect((await send(won)).status).toBe(200)
  const refused = await send(lost)
  expect(refused.json).toMatchObject({
    code: 'validation_failed',
    details: [{ path: 'Idempotency-Key', message: 'was used for another upload' }],
  })
  expect((await send(won, 'publicAsset')).status).toBe(422)
  expect(await filesOf(app)).toHaveLength(1)
})

test('a failed upload is no answer: under the same key it may be tried again', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'idempotency-key': 'k' }
  expect(
    (await uploadBody(app, token, 'no picture', 'image/jpeg', 'publicAsset', headers)).status,
  ).toBe(415)
  const photo = await phonePhoto()
  expect((await uploadBody(app, token, photo, 'image/jpeg', 'publicAsset', headers)).status).toBe(
    200,
  )
})
