import { expect, test } from 'bun:test'
import { parseMailbox, toEmailKey } from '../../../src/lib/text/email-address.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { startSmtp } from '../../support/smtp.ts'

const LONG_LOCAL = 'a'.repeat(64)
const LONG_DOMAIN = `${'b'.repeat(62)}.${'c'.repeat(62)}.${'d'.repeat(62)}.com`

test.each([
  'x,victim@d',
  '<victim@d>',
  'x(y)victim@d',
  'Ann <ann@example.com>',
  '"ann lee"@example.com',
  '"victim@d"@example.com',
  'ann@example.com,bob@example.com',
  'ann;bob@example.com',
  'ann:bob@example.com',
  'ann@bob@example.com',
  'ann@[127.0.0.1]',
  'ann@127.0.0.1',
  'ann@exam_ple.com',
  'ann@-example.com',
  'ann@example..com',
  'ann@a/b',
  'ann@a%2eb',
  '.ann@example.com',
  'ann.@example.com',
  'an..n@example.com',
  'an\u200bn@example.com',
  'an n@example.com',
  'ann\n@example.com',
  'ann',
  '@example.com',
  'ann@',
  `${'a'.repeat(65)}@example.com`,
  `${LONG_LOCAL}@${LONG_DOMAIN}`,
  'ann\ud800@example.com',
])('refuses %j as an address', (text) => {
  expect(parseMailbox(text)).toBe(null)
})

test.each([
  ['Ann.Lee+news@Example.COM', 'Ann.Lee+news@example.com', 'ann.lee+news@example.com'],
  ['ann@example.com.', 'ann@example.com', 'ann@example.com'],
  ['ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'ann@example.com', 'ann@example.com'],
  ['ann@Exämple.com', 'ann@xn--exmple-cua.com', 'ann@xn--exmple-cua.com'],
  ['Änn@example.com', 'Änn@example.com', 'änn@example.com'],
  ['victim@d', 'victim@d', 'victim@d'],
  [`${LONG_LOCAL}@example.com`, `${LONG_LOCAL}@example.com`, `${LONG_LOCAL}@example.com`],
])('%p is the mailbox %p, compared as %p', (text, mailbox, key) => {
  expect(parseMailbox(text)).toBe(mailbox)
  expect(toEmailKey(text)).toBe(key)
})

test('refuses addresses that would send the mail elsewhere', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url })
  for (const email of ['x,victim@d', '<victim@d>', 'x(y)victim@d']) {
    const json = { email, password: PASSWORD }
    const refused = await app.ask('POST', '/api/auth/register/v1', { json })
    expect(refused.status).toBe(422)
    expect(refused.json.details).toEqual([{ path: 'email', message: 'must be an e-mail address' }])
    await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email } })
  }
  await app.services.users.outbox.flush()
  expect(smtp.mails).toEqual([])
})

test('treats full-width letters and international domains as the same account', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url })
  await app.register('ａｎｎ@exämple.com')
  // The server shows the international form of the domain.
  expect((await smtp.next('ann@exämple.com')).raw).toContain('To: ann@xn--exmple-cua.com')
  const variant = { email: 'ANN@xn--exmple-cua.com', password: PASSWORD }
  expect((await app.ask('POST', '/api/auth/register/v1', { json: variant })).status).toBe(409)
  const { json } = await app.ask('POST', '/api/auth/login/v1', { json: variant })
  expect(json.response.user.email).toBe('ａｎｎ@exämple.com')
})

test('sends an unverified mailbox at most eight e-mails an hour, from all endpoints together', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url })
  for (let round = 0; round < 10; round++) {
    const { accessToken: token } = await app.register('victim@example.com')
    const json = { email: 'victim@example.com', password: PASSWORD }
    const headers = { device: `device ${round}` }
    await app.ask('POST', '/api/auth/login/v1', { json, headers })
    await app.ask('POST', '/api/auth/password/v1/forgot', {
      json: { email: 'VICTIM@example.com.' },
    })
    await app.ask('DELETE', '/api/user/profile/v1', { token })
  }
  await app.services.users.outbox.flush()
  expect(smtp.mails.length).toBeWithin(3, 9)
})

test('migrates addresses that are stored in an older form', async () => {
  await using app = await createTestApp()
  await app.register('ann@exämple.com')
  const { users } = app.services.db.tables
  await app.services.db.write(
    async (tx) => void (await tx.update(users).set({ emailKey: 'ann@exämple.com' })),
  )
  expect(await app.services.users.accounts.rebuildEmailKeys()).toEqual([])
  const json = { email: 'ann@exämple.com', password: PASSWORD }
  expect((await app.ask('POST', '/api/auth/login/v1', { json })).status).toBe(200)
})
