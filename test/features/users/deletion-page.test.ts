import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'
import { CODE_PATH, codeIn, EMAIL, otherCode } from '../../support/email-codes.ts'
import { startSmtp } from '../../support/smtp.ts'

const PAGE = '/account/delete'
const BASE = { BASE_URL: 'https://api.example.com', MAIL_FROM: 'App <app@example.com>' }

describe('the deletion page', () => {
  test('says what is kept and for how long', async () => {
    await using app = await createTestApp({ ...BASE, AUDIT_KEEP_DAYS: '90', BACKUP_KEEP: '60' })
    const { text } = await app.ask('GET', '/account/delete')
    expect(text).toContain('for up to 90 days')
    expect(text).toContain('after about 60 days')
    const german = await app.ask('GET', '/account/delete', { headers: { 'accept-language': 'de' } })
    expect(german.text).toContain('höchstens 90 Tage')
  })

  test('deletes the account of a user without a password by a code', async () => {
    await using setup = await startDeletion()
    const { user } = await signInByCode(setup.app, EMAIL)
    await setup.smtp.next(EMAIL)
    const sent = await setup.requestCode(EMAIL)
    expect([sent.status, sent.text.includes('a code is on its way')]).toEqual([200, true])
    const mail = await setup.smtp.next(EMAIL)
    expect(mail.subject).toContain('Your code to delete your account')
    const fields = { email: EMAIL, requestToken: sent.requestToken }
    const wrong = await form(setup.app, PAGE, { ...fields, emailCode: otherCode(codeIn(mail)) })
    expect([wrong.status, requestTokenIn(wrong)]).toEqual([401, sent.requestToken])
    expect(wrong.text).toContain('The code is wrong or has expired.')
    const gone = await form(setup.app, PAGE, { ...fields, emailCode: codeIn(mail) })
    expect([gone.status, gone.text.includes('have been deleted')]).toEqual([200, true])
    expect(await setup.app.services.accounts.exists(user._id)).toBe(false)
    const again = await form(setup.app, PAGE, { ...fields, emailCode: codeIn(mail) })
    expect(again.status).toBe(401)
  })

  test('asks for the second step too, and for another code after a wrong one', async () => {
    await using setup = await startDeletion()
    const { user } = await signInByCode(setup.app, EMAIL)
    await setup.smtp.next(EMAIL)
    await setup.turnOnTwoFactor(user._id)
    const { requestToken } = await setup.requestCode(EMAIL)
    const emailCode = codeIn(await setup.smtp.next(EMAIL))
    const reply = await form(setup.app, PAGE, { email: EMAIL, requestToken, emailCode })
    expect([reply.status, requestTokenIn(reply)]).toEqual([401, ''])
    expect(await setup.app.services.accounts.exists(user._id)).toBe(true)
  })

  test('deletes an unverified account for the owner of the mailbox, regardless of a stranger’s settings', async () => {
    await using setup = await startDeletion()
    const { user } = await setup.app.register(EMAIL)
    await setup.smtp.next(EMAIL)
    await setup.turnOnTwoFactor(user._id)
    const { requestToken } = await setup.requestCode(EMAIL)
    const emailCode = codeIn(await setup.smtp.next(EMAIL))
    expect((await form(setup.app, PAGE, { requestToken, emailCode })).status).toBe(200)
    expect(await setup.app.services.accounts.exists(user._id)).toBe(false)
  })

  test('gives the same response for an unknown address, whose owner learns that there is no account', async () => {
    await using setup = await startDeletion()
    const known = await setup.requestCode('bob@example.com')
    expect([known.status, known.requestToken]).toEqual([200, expect.stringMatching(/.{43}/)])
    const mail = await setup.smtp.next('bob@example.com')
    expect(mail.subject).toContain('There is no account with this address')
    expect(await setup.app.services.db.read.$count(setup.app.services.db.tables.users)).toBe(0)
  })

  test('accepts no sign-in code, and its code does not sign in', async () => {
    await using setup = await startDeletion()
    await signInByCode(setup.app, EMAIL)
    await setup.smtp.next(EMAIL)
    const { requestToken } = await setup.requestCode(EMAIL)
    const code = codeIn(await setup.smtp.next(EMAIL))
    const signIn = await setup.app.ask('POST', `${CODE_PATH}/verify`, {
      json: { requestToken, code },
    })
    expect(signIn.status).toBe(401)
    const { json } = await setup.app.ask('POST', CODE_PATH, { json: { email: EMAIL } })
    const emailCode = codeIn(await setup.smtp.next(EMAIL))
    const fields = { requestToken: json.response.requestToken, emailCode }
    expect((await form(setup.app, PAGE, fields)).status).toBe(401)
  })

  test('reports an invalid address, and limits the codes', async () => {
    await using setup = await startDeletion()
    expect((await setup.requestCode('ann')).status).toBe(422)
    for (let at = 0; at < 3; at++) expect((await setup.requestCode(EMAIL)).status).toBe(200)
    expect((await setup.requestCode(EMAIL)).status).toBe(429)
  })
})

/** An app that mails the codes of the deletion page. */
async function startDeletion() {
  const smtp = await startSmtp()
  const app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  return {
    app,
    smtp,
    async requestCode(email: string) {
      const reply = await form(app, PAGE, { email, password: '', send: 'code' })
      return { ...reply, requestToken: requestTokenIn(reply) }
    },
    async turnOnTwoFactor(id: string) {
      const { users } = app.services.db.tables
      const change = { twoFactorSince: app.clock.now, twoFactorSecret: null }
      await app.services.db.write((tx) => tx.update(users).set(change).where(eq(users.id, id)))
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}

function requestTokenIn({ text }: { text: string }): string {
  return /name="requestToken" value="([^"]+)"/.exec(text)?.[1] ?? ''
}

function form(app: TestApp, path: string, fields: Record<string, string>, more = {}) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
  return app.ask('POST', path, { body: new URLSearchParams(fields).toString(), headers })
}
