import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataCommands } from '../../../src/cli/data-commands.ts'
import { toCommands } from '../../../src/platform/actions/command-line.ts'
import { actions } from '../../../src/server/declarations.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { LOCAL_USER, runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

const DAY = 24 * 60 * 60 * 1000
const SOURCE = join(import.meta.dir, '../../../src')

test('audits a console change with operator, origin, and values before and after', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { version, content } = await ann.read('settings')
  const edited = { ...content, hardPaywall: true }
  const json = { base: version, note: 'Launch', content: edited }
  const reply = await ann.ask('POST', 'settings/publish', { json })
  const [entry] = (await ann.read('audit')).entries
  expect(entry).toEqual({
    id: expect.any(String),
    at: app.clock.now.toISOString(),
    operator: 'ann',
    origin: 'unknown',
    action: 'settings.publish',
    target: 'version 2',
    before: { hardPaywall: false },
    after: { hardPaywall: true },
    requestId: reply.headers.get('x-request-id'),
  })
})

test('audits a change by a command with the user who ran it', async () => {
  await using app = await createTestApp()
  await runCommand(app, 'settings set', ['hardPaywall=true', 'ios.latestVersion=2.4.0'])
  const { entries } = await app.services.operators.audit.list({})
  expect(entries).toEqual([
    {
      id: expect.any(String),
      at: app.clock.now,
      operator: null,
      origin: LOCAL_USER,
      action: 'settings.set',
      target: 'version 2',
      before: { hardPaywall: false, 'ios.latestVersion': '1.0.0' },
      after: { hardPaywall: true, 'ios.latestVersion': '2.4.0' },
      requestId: null,
    },
  ])
  const { printed } = await runCommand(app, 'audit list', [], { action: 'settings set' })
  expect(printed).toContain(`command\t${LOCAL_USER}\tsettings.set`)
})

test('audits every console action on users, sessions, events, keys and files', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { user, accessToken: token } = await app.register('bob@example.com')
  await deliver(app, { ...purchase(user._id), id: 'E1' })
  const stored = await app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token,
    body: 'text',
    headers: { 'content-type': 'text/plain' },
  })
  const { key } = stored.json.response[0]
  const sessions = (await app.ask('GET', '/api/auth/sessions/v1', { token })).json.response
  const userPath = `people/${user._id}`
  const actions: [string, string, unknown?][] = [
    [`${userPath}/notes`, 'users.add-note', { text: 'secret of bob' }],
    [`${userPath}/verify`, 'users.verify'],
    [`${userPath}/sessions/${sessions[0]._id}/end`, 'users.end-session'],
    [`${userPath}/sign-out`, 'users.sign-out'],
    ['events/E1/replay', 'events.replay'],
    ['events/replay', 'events.replay-matching', { outcome: 'applied' }],
    ['keys/rotate', 'keys.rotate', { use: 'sig', atOnce: false }],
    [`${userPath}/files/${key}/delete`, 'files.delete'],
    [`${userPath}/delete`, 'users.delete', { confirm: 'bob@example.com' }],
  ]
  expect((await ann.ask('GET', `${userPath}/export`)).status).toBe(200)
  for (const [path, , json] of actions) {
    const { status } = await ann.ask('POST', path, json === undefined ? {} : { json })
    expect([path, status]).toEqual([path, 200])
  }
  const { entries } = await ann.read('audit')
  const audited = entries.map(({ action }: { action: string }) => action).toReversed()
  const expected = actions.map(([, action]) => action)
  expect(audited).toEqual(['operators.set-up', 'users.export', ...expected])
  const entryFor = (action: string) =>
    entries.find((entry: { action: string }) => entry.action === action)
  expect(entryFor('users.verify')).toMatchObject({
    target: user._id,
    before: { verified: false },
    after: { verified: true },
  })
  expect(entryFor('files.delete')).toMatchObject({ target: user._id, before: { key, size: 4 } })
  expect(entryFor('events.replay-matching').after).toMatchObject({
    outcome: 'applied',
    done: 1,
    failed: 0,
  })
  expect(JSON.stringify(entries)).not.toContain('secret of bob')
  expect(JSON.stringify(entryFor('users.delete'))).not.toContain('bob@example.com')
})

test('audits neither reads nor refused changes', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const count = async () => (await ann.read('audit')).entries.length
  const before = await count()
  for (const path of ['people', 'events', 'settings', 'settings/history', 'overview', 'files']) {
    await ann.read(path)
  }
  const wrong = { base: 7, note: '', content: (await ann.read('settings')).content }
  expect((await ann.ask('POST', 'settings/publish', { json: wrong })).status).toBe(409)
  expect((await ann.ask('POST', 'people/nobody/verify')).status).toBe(404)
  expect(await count()).toBe(before)
})

test('signing out an unknown user fails and is not audited', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  expect((await ann.ask('POST', 'people/nobody/sign-out')).status).toBe(404)
  expect((await ann.read('audit?action=users.sign-out')).entries).toEqual([])
})

test('audits every command except the read-only ones', () => {
  const actionNames = new Set(toCommands(actions).map(({ name }) => name))
  const unaudited = dataCommands.map(({ name }) => name).filter((name) => !actionNames.has(name))
  const readOnly =
    /^(status|openapi|business)$| (list|show|get|check|status|export|usage|unmatched|subscription|deliveries|explain)$/
  expect(unaudited.filter((name) => !readOnly.test(name))).toEqual([])
  expect(dataCommands.length).toBeGreaterThan(unaudited.length + 10)
})

test('masks secrets at any depth and keeps everything else', async () => {
  await using app = await createTestApp()
  const { audit } = app.services.operators
  const secret = 'canary-5f1c'
  const names = ['password', 'refreshToken', 'totpSecret', 'code', 'recoveryCodes', 'hash']
  const secrets = Object.fromEntries(names.map((name) => [name, secret]))
  const values = {
    ...secrets,
    privateKey: { pem: secret },
    signature: [secret],
    name: 'kept',
    nothing: null,
    list: [1, 'kept', { ...secrets, deep: { ...secrets, count: 3, tokens: [secret] } }],
  }
  await audit.record({ operator: 'ann', origin: '::1', action: 'x', before: values, after: values })
  const { entries } = await audit.list({})
  expect(JSON.stringify(entries)).not.toContain(secret)
  for (const side of [entries[0]?.before, entries[0]?.after]) {
    expect(side).toMatchObject({
      name: 'kept',
      nothing: null,
      password: '[secret]',
      signature: '[secret]',
      list: [1, 'kept', { code: '[secret]', deep: { count: 3, hash: '[secret]' } }],
    })
  }
})

test('does not mask features and plans whose names look like secrets', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { version, content } = await ann.read('settings')
  const on = { value: true, rules: [] }
  const features = { ...content.features, tokenX: on, token: on, secretMenu: on }
  const json = { base: version, note: '', content: { ...content, features } }
  expect((await ann.ask('POST', 'settings/publish', { json })).status).toBe(200)
  await runCommand(app, 'settings set', ['features.passwordless=true'])
  const plans = await ann.read('plans')
  const [plan] = plans.content
  const changed = [...plans.content, { ...plan, code: 'secret', name: { en: 'New' } }]
  const edit = { base: plans.version, note: '', content: changed }
  expect((await ann.ask('POST', 'plans/publish', { json: edit })).status).toBe(200)
  const { entries } = await ann.read('audit')
  const shown = { 'features.tokenX': on, 'features.token': on, 'features.secretMenu': on }
  const command = { 'features.passwordless': on }
  const created = { secret: { code: 'secret' } }
  expect(entries).toMatchObject([{ after: created }, { after: command }, { after: shown }, {}])
})

test('truncates long text and never logs the setup link of a new operator', async () => {
  await using app = await createTestApp()
  const { audit } = app.services.operators
  const after = { text: 'x'.repeat(5_000) }
  await audit.record({ operator: null, origin: 'root', action: 'x', after })
  const [entry] = (await audit.list({})).entries
  expect(entry?.after).toEqual({ text: `${'x'.repeat(2_000)}…` })
  const { outcome } = await runCommand(app, 'operators add', ['bob'], { role: 'reader' })
  const token = outcome.link.split('#setup=')[1]
  expect(token).toHaveLength(43)
  const [added] = (await audit.list({})).entries
  expect(added).toMatchObject({ action: 'operators.add', target: 'bob', after: { role: 'reader' } })
  expect(JSON.stringify(added) + app.lines.join('')).not.toContain(token)
})

test('finds entries by action, operator, target and time, in pages, newest first', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const start = app.clock.now.toISOString()
  for (let at = 0; at < 120; at++) {
    app.clock.advance(1_000)
    await app.services.operators.audit.record({
      operator: at % 2 === 0 ? 'even' : 'odd',
      origin: '::1',
      action: at % 3 === 0 ? 'third' : 'other',
      target: `T${at}`,
    })
  }
  const pages: (string | null)[][] = []
  let path = `audit?since=${encodeURIComponent(start)}`
  for (let next: string | null = ''; next !== null; ) {
    const page = await ann.read(next === '' ? path : `${path}&after=${next}`)
    pages.push(page.entries.map(({ target }: { target: string | null }) => target))
    next = page.next
  }
  expect(pages.map(({ length }) => length)).toEqual([50, 50, 21])
  expect(pages.flat()).toEqual([...Array.from({ length: 120 }, (_, at) => `T${119 - at}`), null])

  path = `audit?operator=odd&action=third&since=${secondsAgo(app, 31)}`
  const targets = (await ann.read(path)).entries.map((entry: { target: string }) => entry.target)
  expect(targets).toEqual(['T117', 'T111', 'T105', 'T99', 'T93'])
  path = `audit?since=${secondsAgo(app, 10)}&until=${secondsAgo(app, 7)}`
  const { entries, total } = await ann.read(path)
  expect(entries.map((entry: { target: string }) => entry.target)).toEqual(['T111', 'T110', 'T109'])
  expect(total).toBe(null)
  const exported = await ann.ask('GET', path.replace('?', '/export?'))
  expect(exported.json).toHaveLength(3)
  expect((await ann.read('audit?target=T7')).entries).toMatchObject([{ operator: 'odd' }])
  expect((await ann.read('audit?operator=nobody')).entries).toEqual([])
  for (const name of ['since', 'until'])
    expect((await ann.ask('GET', `audit?${name}=yesterday`)).status).toBe(422)
  const file = await ann.ask('GET', 'audit/export?operator=even')
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="audit.json"')
  expect(file.json).toHaveLength(60)
})

test('keeps entries for AUDIT_KEEP_DAYS and then deletes them', async () => {
  await using app = await createTestApp({ AUDIT_KEEP_DAYS: '30' })
  const { audit } = app.services.operators
  const count = async () => (await audit.list({})).entries.length
  await audit.record({ operator: 'ann', origin: '::1', action: 'old' })
  app.clock.advance(DAY)
  await audit.record({ operator: 'ann', origin: '::1', action: 'new' })
  app.clock.advance(29 * DAY)
  await audit.sweep()
  expect(await count()).toBe(2)
  app.clock.advance(1)
  await audit.sweep()
  expect((await audit.list({})).entries.map(({ action }) => action)).toEqual(['new'])
  await using other = await createTestApp()
  expect(other.services.config.auditKeepDays).toBe(365)
})

test('only expiry deletes entries and nothing changes them, not even removing their operator', async () => {
  await using app = await createTestApp()
  await signInOperator(app)
  await signInOperator(app, { name: 'bob' })
  const { accounts, audit } = app.services.operators
  await accounts.reset('bob')
  await accounts.remove('bob')
  expect((await audit.list({ operator: 'bob' })).entries).toHaveLength(1)
  const files = [...new Bun.Glob('**/*.ts').scanSync(SOURCE)]
  const paths = files.filter((path) =>
    /auditEntries/.test(readFileSync(join(SOURCE, path), 'utf8')),
  )
  expect(paths.toSorted()).toEqual(['features/operators/audit.ts', 'features/operators/schema.ts'])
  const text = readFileSync(join(SOURCE, 'features/operators/audit.ts'), 'utf8')
  expect(text.match(/\.(delete|update)\(/g)).toEqual(['.delete('])
})

/** The time `seconds` ago, as a query value. */
function secondsAgo({ clock }: TestApp, seconds: number): string {
  return encodeURIComponent(new Date(clock.now.getTime() - seconds * 1_000).toISOString())
}
