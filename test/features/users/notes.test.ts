import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { type OperatorBrowser, signInOperator } from '../../support/operator.ts'

const EMAIL = 'bob@example.com'

test('operators read each other’s notes, newest first', async () => {
  await using app = await createTestApp()
  const { path, user, ann } = await startWithUser(app)
  const reader = await signInOperator(app, { name: 'rob', role: 'reader' })
  await ann.ask('POST', `${path}/notes`, { json: { text: '  Lost her phone.\n' } })
  app.clock.advance(1_000)
  await runCommand(app, 'user note', [EMAIL, 'Refunded.'])
  const { notes } = await reader.read(path)
  expect(notes).toEqual([
    { _id: expect.any(String), text: 'Refunded.', author: null, createdAt: expect.any(String) },
    expect.objectContaining({ text: 'Lost her phone.', author: 'ann' }),
  ])
  const { status } = await reader.ask('POST', `${path}/notes`, { json: { text: 'no' } })
  expect(status).toBe(403)
  expect(await app.services.exportData(user._id)).toMatchObject({ notes })
})

test('the maximum length also applies to notes from the command line', async () => {
  await using app = await createTestApp()
  await startWithUser(app)
  await expect(runCommand(app, 'user note', [EMAIL, 'x'.repeat(2_001)])).rejects.toMatchObject({
    code: 'validation_failed',
  })
})

test('deletes a note, but only of the user that it belongs to', async () => {
  await using app = await createTestApp()
  const { path, ann } = await startWithUser(app)
  const other = await startWithUser(app, 'eve@example.com', ann)
  const { json } = await ann.ask('POST', `${path}/notes`, { json: { text: 'Wrong user.' } })
  const { note } = json.response
  expect((await ann.ask('POST', `${other.path}/notes/${note}/delete`)).status).toBe(404)
  expect((await ann.read(path)).notes).toHaveLength(1)
  expect((await ann.ask('POST', `${path}/notes/${note}/delete`)).status).toBe(200)
  expect((await ann.read(path)).notes).toEqual([])
})

test('refuses an empty note, one that is too long, and the 101st', async () => {
  await using app = await createTestApp()
  const { path, ann } = await startWithUser(app)
  const add = (text: string) => ann.ask('POST', `${path}/notes`, { json: { text } })
  for (const text of ['', ' \n ', 'x'.repeat(2_001)]) {
    const { status, json } = await add(text)
    expect([status, json.details[0].path]).toEqual([422, 'text'])
  }
  for (let at = 0; at < 100; at++) expect((await add(`Note ${at}`)).status).toBe(200)
  expect((await add('One more')).status).toBe(409)
})

test('a guest’s notes move to the account that the guest signs in to', async () => {
  await using app = await createTestApp()
  const { path, ann } = await startWithUser(app)
  const guest = (await app.ask('POST', '/api/auth/guest/v1', { json: {} })).json.response
  await ann.ask('POST', `people/${guest.user._id}/notes`, { json: { text: 'Wrote by e-mail.' } })
  const json = { email: EMAIL, password: PASSWORD }
  await app.ask('POST', '/api/auth/login/v1', { token: guest.accessToken, json })
  expect((await ann.read(path)).notes).toMatchObject([{ text: 'Wrote by e-mail.' }])
})

test('a note about a user who was deleted meanwhile is refused', async () => {
  await using app = await createTestApp()
  const { path, user, ann } = await startWithUser(app)
  await app.services.deleteAccount(user._id)
  const added = app.services.users.notes.add(user._id, 'Lost her phone.', 'ann')
  await expect(added).rejects.toMatchObject({ code: 'not_found' })
  expect((await ann.ask('POST', `${path}/notes`, { json: { text: 'late' } })).status).toBe(404)
})

async function startWithUser(app: TestApp, email = EMAIL, signedIn?: OperatorBrowser) {
  const ann = signedIn ?? (await signInOperator(app))
  const { user } = await app.register(email)
  return { path: `people/${user._id}`, user, ann }
}
