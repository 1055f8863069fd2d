import { describe, expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

const NEW_PASSWORD = 'another good one'
const BASE = { BASE_URL: 'https://api.example.com', MAIL_FROM: 'App <app@example.com>' }

test('the pages work without JavaScript', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { accessToken } = await app.register('ann@example.com')
  const token = tokenIn(await smtp.next('ann@example.com'))
  const page = await app.ask('GET', `/auth/verify?token=${token}&utm_source=mail&mc_eid=1`)
  expect(page.text).toContain(`value="${token}"`)
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const hostile = await app.ask('GET', '/auth/verify?token=%22%3E%3Cscript%3E')
  expect(hostile.text).not.toContain('<script>')
  expect(await isVerified(app, 'ann@example.com')).toBe(false)
  expect((await form(app, '/auth/verify', { token })).text).toContain(
    'The address has been confirmed',
  )
  expect(await isVerified(app, 'ann@example.com')).toBe(true)
  for (const again of [
    await form(app, '/auth/verify', { token }),
    await app.ask('GET', `/auth/verify?token=${token}`),
  ])
    expect([again.status, again.text.includes('already confirmed')]).toEqual([200, true])

  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: 'ann@example.com' } })
  const reset = tokenIn(await smtp.next('ann@example.com'))
  expect((await app.ask('GET', `/auth/reset?token=${reset}`)).text).toContain('newPassword')
  const set = await form(app, '/auth/reset', { token: reset, newPassword: NEW_PASSWORD })
  expect(set.status).toBe(200)
  expect((await app.ask('GET', '/api/user/profile/v1', { token: accessToken })).status).toBe(401)

  const wrong = await form(app, '/account/delete', { email: 'ann@example.com', password: PASSWORD })
  expect(wrong.status).toBe(401)
  const gone = await form(app, '/account/delete', {
    email: 'ann@example.com',
    password: NEW_PASSWORD,
  })
  expect(gone.status).toBe(200)
  expect(await app.services.db.read.$count(app.services.db.tables.users)).toBe(0)
})

test('after an invalid password, the form is shown again for another try', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const token = await resetToken(app, smtp)
  const refused = await form(app, '/auth/reset', { token, newPassword: 'short' })
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('The password must have 8 characters or more.')
  expect(refused.text).toContain(`value="${token}"`)
  expect((await form(app, '/auth/reset', { token, newPassword: NEW_PASSWORD })).status).toBe(200)
})

test('the deletion page keeps the entered address after a wrong password', async () => {
  await using app = await createTestApp(BASE)
  await app.register('ann@example.com')
  const email = 'ann@example.com'
  const wrong = await form(app, '/account/delete', { email, password: 'not it at all' })
  expect([wrong.status, wrong.text.includes('value="ann@example.com"')]).toEqual([401, true])
  expect(wrong.text).toContain('The e-mail address or the password is wrong.')
})

test('a page with a used or expired link says so when opened', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const token = await resetToken(app, smtp)
  const opened = () => app.ask('GET', `/auth/reset?token=${token}`)
  expect((await opened()).text).toContain('newPassword')
  app.clock.advance(31 * 60_000)
  const old = await opened()
  expect([old.status, old.text.includes('newPassword')]).toEqual([401, false])
  expect(old.text).toContain('This link was already used or has expired')
  for (const page of ['verify', 'cancel', 'reset']) {
    expect((await app.ask('GET', `/auth/${page}?token=none`)).status).toBe(401)
  }
})

test('pages and their errors are in the language of the browser', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url, APP_NAME: 'Bäume & Co' })
  const token = await resetToken(app, smtp)
  const german = { 'accept-language': 'fr, de-AT;q=0.8' }
  const page = await app.ask('GET', `/auth/reset?token=${token}`, { headers: german })
  expect(page.text).toContain('<html lang="de">')
  expect(page.text).toContain('<h1>Wähle ein neues Passwort</h1>')
  expect(page.text).toContain('<footer>Bäume &amp; Co</footer>')
  const refused = await form(app, '/auth/reset', { token, newPassword: 'kurz' }, german)
  expect(refused.text).toContain('Das Passwort braucht mindestens 8 Zeichen.')
})

test('API errors are in the phone’s language if there is a translation', async () => {
  await using app = await createTestApp(BASE)
  const body = { email: 'ann@example.com', password: 'kurz' }
  const path = '/api/auth/register/v1'
  const ask = (language: string) =>
    app.ask('POST', path, { json: body, headers: { 'accept-language': language } })
  const { json, headers } = await ask('de-CH')
  expect(headers.get('content-language')).toBe('de')
  expect(json).toMatchObject({
    code: 'validation_failed',
    message: 'Das Passwort braucht mindestens 8 Zeichen.',
    details: [{ path: 'password', message: 'braucht mindestens 8 Zeichen' }],
  })
  expect((await ask('fr')).json.message).toBe('The password must have 8 characters or more.')
})

test('a response is in one language, whether it is a success, an error or its details', async () => {
  await using app = await createTestApp(BASE)
  const headers = { 'accept-language': 'de' }
  const ask = async (method: string, path: string, json?: unknown, token = '') => {
    const reply = await app.ask(method, path, { json, headers, ...(token ? { token } : {}) })
    const { message, details = [] } = reply.json
    const messages = [message, ...details.map((detail: { message: string }) => detail.message)]
    return { language: reply.headers.get('content-language'), messages }
  }
  const { accessToken } = await app.register()
  const forgot = await ask('POST', '/api/auth/password/v1/forgot', { email: 'x@example.com' })
  const logout = await ask('POST', '/api/auth/logout/v1', undefined, accessToken)
  const german = await ask('POST', '/api/auth/login/v1', { email: 7, extra: true })
  const english = await ask('POST', '/api/auth/social/v1', { provider: 'x', idToken: 7 })
  expect(forgot).toEqual({
    language: 'de',
    messages: ['Wenn es dieses Konto gibt, ist eine E-Mail unterwegs.'],
  })
  expect(logout).toEqual({ language: 'de', messages: ['Du bist abgemeldet.'] })
  expect(german.language).toBe('de')
  expect(german.messages).toEqual([
    'Einige Angaben sind ungültig.',
    'wird benötigt',
    'ist hier unbekannt',
    'muss eine E-Mail-Adresse sein',
  ])
  expect(english.language).toBe('en')
  expect(english.messages.join()).toMatch(/^Some fields are invalid.,must be one of/)
})

test('e-mails name and link to the app, and to a web page for users without the app', async () => {
  await using smtp = await startSmtp()
  const settings = { SMTP_URL: smtp.url, APP_NAME: 'Trees', APP_LINK_URL: 'myapp://' }
  await using app = await createTestApp({ ...BASE, ...settings })
  await app.register('ann@example.com')
  const mail = await smtp.next('ann@example.com')
  const token = tokenIn(mail)
  expect(mail.subject).toBe('Trees: Confirm your e-mail address')
  expect(mail.text).toContain(`myapp://auth/verify?token=${token}`)
  expect(mail.text).toContain(`https://api.example.com/auth/verify?token=${token}`)
})

async function resetToken(app: TestApp, smtp: Awaited<ReturnType<typeof startSmtp>>) {
  await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: 'ann@example.com' } })
  return tokenIn(await smtp.next('ann@example.com'))
}

function form(app: TestApp, path: string, fields: Record<string, string>, more = {}) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...more }
  return app.ask('POST', path, { body: new URLSearchParams(fields).toString(), headers })
}

async function isVerified(app: TestApp, email: string): Promise<boolean> {
  const user = await app.services.users.accounts.findByEmail(app.services.db.read, email)
  return user?.emailVerifiedAt != null
}

describe('a confirmation link that was used', () => {
  const verify = (app: TestApp, token: string) =>
    app.ask('POST', '/api/auth/email/v1/verify', { json: { token } })

  test('says that the address is already confirmed', async () => {
    await using smtp = await startSmtp()
    await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
    await app.register('ann@example.com')
    const token = tokenIn(await smtp.next('ann@example.com'))
    expect((await verify(app, token)).json.message).toBe('The address has been confirmed.')
    const again = await verify(app, token)
    expect([again.status, again.json.message]).toEqual([200, 'The address is already confirmed.'])
    expect((await verify(app, `${token}x`)).status).toBe(401)
    app.clock.advance(25 * 60 * 60 * 1000)
    expect((await verify(app, token)).status).toBe(401)
  })

  test('says the same after a change of address, until the account has another address', async () => {
    await using smtp = await startSmtp()
    await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
    const { accessToken } = await app.register('ann@example.com')
    const first = tokenIn(await smtp.next('ann@example.com'))
    await verify(app, first)
    const json = { password: PASSWORD, email: 'anna@example.com' }
    await app.ask('POST', '/api/auth/email/v1/change', { token: accessToken, json })
    const token = tokenIn(await smtp.next('anna@example.com'))
    expect((await verify(app, token)).json.message).toBe('The address has been confirmed.')
    expect((await verify(app, token)).json.message).toBe('The address is already confirmed.')
    expect((await verify(app, first)).status).toBe(401)
    const { json: kept } = await app.ask('GET', '/api/user/export/v1', { token: accessToken })
    expect(kept.response.pending).toEqual([])
  })

  test('is invalid once the account is deleted', async () => {
    await using smtp = await startSmtp()
    await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
    const { accessToken } = await app.register('ann@example.com')
    const token = tokenIn(await smtp.next('ann@example.com'))
    await verify(app, token)
    await app.ask('DELETE', '/api/user/profile/v1', { token: accessToken })
    expect((await verify(app, token)).status).toBe(401)
  })
})
