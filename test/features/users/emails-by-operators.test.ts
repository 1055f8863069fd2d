import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { runCommand } from '../../support/commands.ts'
import { RESET, startMailApp, VERIFY } from '../../support/emails.ts'
import { signInOperator } from '../../support/operator.ts'

test('sends test e-mails with the draft and with the current texts', async () => {
  await using setup = await startMailApp()
  const { app, smtp } = setup
  const ann = await signInOperator(app, { role: 'operator' })
  const to = { kind: 'verify-email', language: 'de', email: 'me@example.com' }
  const sent = await ann.ask('POST', 'emails/test', { json: { ...to, content: VERIFY } })
  expect(sent.json.response).toEqual({ email: 'me@example.com', isSent: true })
  const draft = await smtp.next('me@example.com')
  expect(draft.subject).toBe('[Test] Willkommen bei Sunrise')
  expect(draft.text).toContain('https://api.example.com/auth/verify?token=example')
  const { printed } = await runCommand(app, 'emails test', ['email-code', 'me@example.com'])
  expect(printed).toBe('The mail server has accepted the e-mail to me@example.com.')
  expect((await smtp.next('me@example.com')).text).toContain('Your code is 123456.')
  const { entries } = await app.services.operators.audit.list({})
  expect(entries.slice(0, 2)).toMatchObject([
    { action: 'emails.test', target: 'me@example.com', after: { kind: 'email-code' } },
    { action: 'emails.test', operator: 'ann', after: { kind: 'verify-email', language: 'de' } },
  ])
})

test('a test e-mail is refused with the reason', async () => {
  await using setup = await startMailApp()
  const { app, smtp } = setup
  const ann = await signInOperator(app)
  const reader = await signInOperator(app, { name: 'rob', role: 'reader' })
  const to = { kind: 'verify-email', email: 'me@example.com' }
  const ask = (json: object, by = ann) => by.ask('POST', 'emails/test', { json })
  expect((await ask(to, reader)).status).toBe(403)
  expect((await ask({ ...to, kind: 'none' })).status).toBe(422)
  expect((await ask({ ...to, email: 'a@b.example, c@d.example' })).status).toBe(422)
  const invalid = { ...to, content: { 'email-code': { subject: 'A', text: 'B' } } }
  expect((await ask(invalid)).json.details[0].path).toBe('emails.email-code.text.en')
  smtp.refusals.set('me@', { code: 550, text: '5.1.1 no such user' })
  const refused = await ask(to)
  expect([refused.status, refused.json.message]).toEqual([
    409,
    expect.stringMatching(/^The mail server did not accept the e-mail: .*no such user/),
  ])
  expect(smtp.mails).toEqual([])
})

test('an operator can send 20 test e-mails per hour', async () => {
  await using setup = await startMailApp({ RATE_LIMITS: 'on' })
  const ann = await signInOperator(setup.app)
  const ask = (nth: number) =>
    ann.ask('POST', 'emails/test', { json: { kind: 'invitation', email: `me${nth}@example.com` } })
  for (let nth = 0; nth < 20; nth++) expect((await ask(nth)).status).toBe(200)
  expect((await ask(20)).status).toBe(429)
  setup.app.clock.advance(60 * 60_000 + 1)
  expect((await ask(21)).status).toBe(200)
})

test('the console publishes changes to the latest version only, previews drafts, and lists versions', async () => {
  await using setup = await startMailApp()
  const ann = await signInOperator(setup.app)
  const publish = (base: number, content: unknown) =>
    ann.ask('POST', 'emails/publish', { json: { base, note: 'Nicer', content } })
  expect((await ann.read('emails')).content).toEqual({})
  expect((await publish(0, VERIFY)).json.response).toEqual({ version: 2, content: VERIFY })
  expect((await publish(0, {})).status).toBe(409)
  expect((await publish(2, { ...VERIFY, ...RESET })).status).toBe(200)
  const { versions } = await ann.read('emails/history')
  expect(versions).toMatchObject([
    { version: 3, author: 'ann', differences: [{ path: 'reset-password', before: null }] },
    { version: 2, note: 'Nicer', differences: [{ path: 'verify-email' }] },
    { version: 1, author: null, differences: [] },
  ])
  const json = { kind: 'verify-email', language: 'en', content: { frame: { appName: '<b>' } } }
  const { response } = (await ann.ask('POST', 'preview/emails', { json })).json
  expect(response.subject).toBe('<b>: Confirm your e-mail address')
  expect(response.html).toContain('&lt;b&gt;')
  const page = await ann.ask('GET', 'preview/emails/page')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('commands print, publish and roll back the texts', async () => {
  await using setup = await startMailApp()
  const { app } = setup
  const all = (await runCommand(app, 'emails get')).printed
  const file = join(app.services.config.dataDir, 'emails.json')
  const publish = async (content: string) => {
    await Bun.write(file, content)
    return (await runCommand(app, 'emails publish', [file], { note: 'From a file' })).printed
  }
  expect(await publish(all)).toBe('Imported as version 2.')
  expect(await publish(JSON.stringify(VERIFY))).toBe('Imported as version 3.')
  expect(JSON.parse((await runCommand(app, 'emails export')).printed)).toEqual(VERIFY)
  const history = await runCommand(app, 'emails get', [], { history: true })
  expect(history.printed).toContain('From a file')
  expect((await runCommand(app, 'emails rollback', ['1'])).printed).toBe('Published as version 4.')
  expect((await setup.emails.readLive()).content).toEqual({})
})
