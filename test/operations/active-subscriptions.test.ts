import { expect, test } from 'bun:test'
import { serverClient } from '../support/api-keys.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { deliver, iso, lifecycle, ms, purchase } from '../support/billing.ts'
import { runCommand } from '../support/commands.ts'
import { startSmtp } from '../support/smtp.ts'

const PROFILE = '/api/user/profile/v1'
const APPLE = 'https://apps.apple.com/account/subscriptions'
const GOOGLE = 'https://play.google.com/store/account/subscriptions'
const GONE = 'The account and everything in it have been deleted.'

test('deleting an account lists the subscription that the store keeps charging for', async () => {
  await using it = await setUp()
  const { app, user, token, smtp } = it
  await deliver(app, purchase(user._id))
  const { json } = await app.ask('DELETE', PROFILE, { token })
  const active = {
    store: 'APP_STORE',
    productId: 'prod_example_pro',
    expiresAt: iso(30),
    willRenew: true,
    managementUrl: APPLE,
  }
  expect(json).toEqual({
    code: 'ok',
    message: `${GONE} The store keeps charging for your subscription until you cancel it there.`,
    activeSubscriptions: [active],
  })
  const mail = await smtp.next('ann@example.com')
  expect(mail.subject).toContain('Your subscription is not cancelled')
  for (const text of ['prod_example_pro', APPLE, GOOGLE]) expect(mail.text).toContain(text)
  expect(await app.services.db.read.$count(app.services.db.tables.users)).toBe(0)
})

test.each([
  ['no purchase', []],
  ['a lifetime purchase', [{ type: 'NON_RENEWING_PURCHASE', expiration_day: null }]],
  ['a test purchase', [{ type: 'INITIAL_PURCHASE', environment: 'SANDBOX' }]],
  ['promotional access', [{ type: 'NON_RENEWING_PURCHASE', store: 'PROMOTIONAL' }]],
  ['an ended subscription', [{ type: 'INITIAL_PURCHASE' }, { type: 'EXPIRATION', day: 30 }]],
  [
    'a refunded subscription',
    [
      { type: 'INITIAL_PURCHASE' },
      { type: 'CANCELLATION', cancel_reason: 'CUSTOMER_SUPPORT', day: 1 },
    ],
  ],
] as const)('%s does not continue after the account is deleted', async (_name, events) => {
  await using it = await setUp()
  const { app, user, smtp } = it
  for (const { type, ...fields } of events) {
    const { day = 0, ...others } = { ...fields } as { day?: number }
    await deliver(
      app,
      lifecycle(user._id, type, day, { purchased_day: 0, expiration_day: 30, ...others }),
    )
    app.clock.now = new Date(ms(day + 1))
  }
  const token = await it.signIn()
  expect((await app.ask('DELETE', PROFILE, { token })).json).toEqual({
    code: 'ok',
    message: GONE,
  })
  await app.services.outbox.flush()
  expect(smtp.mails.some(({ subject }) => subject.includes('not cancelled'))).toBe(false)
})

test('a cancelled subscription is listed as not renewing, without an e-mail', async () => {
  await using it = await setUp()
  const { app, user, token, smtp } = it
  await deliver(app, purchase(user._id, { store: 'PLAY_STORE' }))
  await deliver(
    app,
    lifecycle(user._id, 'CANCELLATION', 1, { cancel_reason: 'UNSUBSCRIBE', store: 'PLAY_STORE' }),
  )
  const { json } = await app.ask('DELETE', PROFILE, { token })
  expect(json).toMatchObject({
    message: GONE,
    activeSubscriptions: [{ store: 'PLAY_STORE', willRenew: false, managementUrl: GOOGLE }],
  })
  await app.services.outbox.flush()
  expect(smtp.mails.some(({ subject }) => subject.includes('not cancelled'))).toBe(false)
})

test.each([
  ['a pause', 'EXPIRATION', { expiration_reason: 'SUBSCRIPTION_PAUSED' }],
  ['a failed payment', 'BILLING_ISSUE', {}],
])('the store keeps charging after %s', async (_name, type, fields) => {
  await using it = await setUp()
  const { app, user } = it
  await deliver(app, purchase(user._id, { store: 'PLAY_STORE' }))
  await deliver(app, lifecycle(user._id, type, 30, { store: 'PLAY_STORE', ...fields }))
  app.clock.now = new Date(ms(31))
  const { json } = await app.ask('DELETE', PROFILE, { token: await it.signIn() })
  expect(json.activeSubscriptions).toMatchObject([{ willRenew: true, managementUrl: GOOGLE }])
})

test('the deletion page names the subscription and links to its store’s page', async () => {
  await using it = await setUp()
  const { app, user } = it
  await deliver(app, purchase(user._id, { product_id: 'pro<b>' }))
  const stripe = { store: 'STRIPE', product_id: 'web', original_transaction_id: '9' }
  await deliver(app, purchase(user._id, { ...stripe, id: 'web', transaction_id: '9' }))
  const body = new URLSearchParams({ email: 'ann@example.com', password: PASSWORD }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'accept-language': 'de' }
  const { status, text } = await app.ask('POST', '/account/delete', { body, headers })
  expect(status).toBe(200)
  expect(text).toContain('Der Store berechnet weiter, bis du dort kündigst, wo du gekauft hast:')
  expect(text).toContain(`<a href="${APPLE}">pro&lt;b&gt;</a>`)
  expect(text).toContain('<li>web</li>')
})

test('deletions by a server and by a command list the subscription too, and send the e-mail', async () => {
  await using it = await setUp('ann@example.com', 'de')
  const { app, user, smtp } = it
  await deliver(app, purchase(user._id))
  const ask = await serverClient(app)
  const { json } = await ask('DELETE', `users/v1/${user._id}`)
  expect(json.activeSubscriptions).toMatchObject([{ store: 'APP_STORE', willRenew: true }])
  expect((await smtp.next('ann@example.com')).text).toContain('Dein Konto ist gelöscht')
  const bob = await app.register('bob@example.com')
  await smtp.next('bob@example.com')
  await deliver(app, purchase(bob.user._id, { id: 'b', original_transaction_id: 'b' }))
  const { printed } = await runCommand(app, 'user delete', ['bob@example.com'], { yes: true })
  expect(printed).toContain('The store keeps charging')
  expect((await smtp.next('bob@example.com')).text).toContain(APPLE)
})

/** A user who has signed in on the first day. */
async function setUp(email = 'ann@example.com', language = 'en') {
  const smtp = await startSmtp()
  const app = await createTestApp({ SMTP_URL: smtp.url, BASE_URL: 'https://a.example.com' })
  app.clock.now = new Date(ms(0.5))
  const { user, accessToken: token } = await app.register(email, { 'accept-language': language })
  await app.verifyEmail(email)
  await smtp.next(email)
  return {
    app,
    smtp,
    user,
    token,
    async signIn() {
      const json = { email, password: PASSWORD }
      const reply = await app.ask('POST', '/api/auth/login/v1', { json })
      return reply.json.response.accessToken as string
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}
