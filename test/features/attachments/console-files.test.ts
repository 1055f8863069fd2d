import { expect, test } from 'bun:test'
import { createConsoleApp } from '../../../src/server/app.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'
import { phonePhoto } from '../../support/pictures.ts'

const MINUTE = 60_000

test('readers cannot open a private file; others need a recent proof and are audited', async () => {
  await using app = await createTestApp()
  const { user, key } = await uploadFile(app, 'supportTicket')
  const path = `people/${user._id}/files`
  const reader = await signInOperator(app, { name: 'rita', role: 'reader' })
  const ann = await signInOperator(app)
  for (const operator of [reader, ann]) {
    const listed = (await operator.read(path)).records
    expect(listed).toMatchObject([{ key, url: null }])
    expect(JSON.stringify(listed)).not.toContain('signature')
  }
  expect((await reader.ask('GET', `${path}/${key}/open`)).status).toBe(403)
  app.clock.advance(11 * MINUTE)
  const refused = await ann.ask('GET', `${path}/${key}/open`)
  expect([refused.status, refused.json.details[0].message]).toEqual([403, 'step_up_required'])
  expect((await ann.ask('POST', 'me/proof', { json: { code: ann.codeNow() } })).status).toBe(200)

  const opened = await ann.ask('GET', `${path}/${key}/open`)
  expect(opened.status).toBe(303)
  const url = new URL(opened.headers.get('location') ?? '')
  expect((await app.ask('GET', url.pathname + url.search)).text).toBe('text')
  const { entries } = await ann.read('audit?action=files.open')
  expect(entries).toMatchObject([{ operator: 'ann', target: user._id, after: { key } }])
})

test('opens a file only under its owner’s path, and lists a public file with its URL', async () => {
  await using app = await createTestApp()
  const { key } = await uploadFile(app, 'supportTicket')
  const other = await uploadFile(app, 'publicAsset')
  const ann = await signInOperator(app)
  const path = `people/${other.user._id}/files`
  expect((await ann.ask('GET', `${path}/${key}/open`)).status).toBe(404)
  const [listed] = (await ann.read(path)).records
  expect(listed.url).toEndWith(`/files/${other.key}`)
  expect((await ann.read('audit?action=files.open')).entries).toEqual([])
})

async function uploadFile(app: TestApp, type: string) {
  const { user, accessToken: token } = await app.register()
  const isPublic = type === 'publicAsset'
  const headers = { 'content-type': isPublic ? 'image/jpeg' : 'text/plain' }
  const body = isPublic ? await phonePhoto() : 'text'
  const path = `/api/user/attachments/v1?type=${type}`
  const { json } = await app.ask('POST', path, { token, body, headers })
  return { user, key: json.response[0].key as string }
}

test('commands show what is stored, and delete a file by its owner’s address', async () => {
  await using app = await createTestApp()
  const { user, key } = await uploadFile(app, 'supportTicket')
  const { printed } = await runCommand(app, 'files usage')
  expect(printed).toContain('supportTicket\t1 files')
  expect(printed).toContain(user._id)
  await runCommand(app, 'files delete', [user.email, key])
  expect((await runCommand(app, 'files usage')).printed).not.toContain(user._id)
  const { entries } = await app.services.operators.audit.list({})
  expect(entries).toMatchObject([
    { action: 'files.delete', target: user._id, before: { key, size: 4 } },
  ])
})

test('the URL of a file does not contain the console’s own port', async () => {
  await using app = await createTestApp({ CONSOLE_PORT: '9999', PORT: '3000' })
  const { user } = await uploadFile(app, 'publicAsset')
  Object.assign(app, { app: createConsoleApp(app.services) })
  const ann = await signInOperator(app)
  const { records } = await ann.read(`people/${user._id}/files`)
  expect(new URL(records[0].url).port).toBe('3000')
})
