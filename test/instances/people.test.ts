import { expect } from 'bun:test'
import { TOTP } from 'totp-generator'
import { PASSWORD, type TestApp } from '../support/app.ts'
import { createTestInstances, mapConcurrently, testInstances, times } from '../support/instances.ts'
import { startSmtp, tokenIn } from '../support/smtp.ts'

const EMAIL = 'ann@example.com'
const TWO_FACTOR = '/api/auth/two_factor/v1'

testInstances('exactly one of 20 registrations with the same e-mail succeeds', async () => {
  await using instances = await createTestInstances()
  const replies = await mapConcurrently(times(20), () =>
    post(instances.balancer, 'register/v1', { email: EMAIL, password: PASSWORD }),
  )
  const statuses = replies.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([200, ...Array(19).fill(409)])
})

testInstances('a refresh token used concurrently on both instances has one successor', async () => {
  await using instances = await createTestInstances()
  const { refreshToken } = await instances.here.register()
  const replies = await mapConcurrently(times(20), () =>
    post(instances.balancer, 'refresh/v1', { refreshToken }),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(replies.map(({ json }) => json.response.refreshToken)).size).toBe(1)
})

testInstances(
  'a session that ends on one instance is refused by the other immediately',
  async () => {
    await using instances = await createTestInstances()
    const { accessToken: token } = await instances.here.register()
    const profile = () => instances.there.ask('GET', '/api/user/profile/v1', { token })
    expect((await profile()).status).toBe(200)
    expect((await instances.here.ask('POST', '/api/auth/logout/v1', { token })).status).toBe(200)
    expect((await profile()).status).toBe(401)
  },
)

testInstances('an e-mail link works once, regardless of the instance', async () => {
  await using smtp = await startSmtp()
  await using instances = await createTestInstances({ SMTP_URL: smtp.url })
  await instances.here.register(EMAIL)
  const token = tokenIn(await smtp.next(EMAIL))
  const verified = await mapConcurrently(times(20), () =>
    post(instances.balancer, 'email/v1/verify', { token }),
  )
  expect(verified.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const messages = verified.map(({ json }) => json.message).toSorted()
  const isAlready = 'The address is already confirmed.'
  expect(messages).toEqual(['The address has been confirmed.', ...Array(19).fill(isAlready)])
  await post(instances.balancer, 'password/v1/forgot', { email: EMAIL })
  const resetToken = tokenIn(await smtp.next(EMAIL))
  const reset = await mapConcurrently(times(20), (at) =>
    post(instances.balancer, 'password/v1/reset', {
      token: resetToken,
      newPassword: `another good one ${at}`,
    }),
  )
  expect(reset.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(401)])
})

testInstances('a two-factor code is accepted once across instances', async () => {
  await using instances = await createTestInstances({ RATE_LIMITS: 'off' })
  const { balancer, clock } = instances
  const { accessToken: token } = await balancer.register(EMAIL)
  const setUp = await balancer.ask('POST', TWO_FACTOR, { token, json: { password: PASSWORD } })
  const { secret } = setUp.json.response
  const codeNow = async () =>
    (await TOTP.generate(secret, { timestamp: clock.now.getTime() })).otp as string
  const json = { code: await codeNow() }
  expect((await balancer.ask('POST', `${TWO_FACTOR}/confirm`, { token, json })).status).toBe(200)
  clock.advance(30_000)
  const code = await codeNow()
  const challenges = await mapConcurrently(times(20), async () => {
    const reply = await post(balancer, 'login/v1', { email: EMAIL, password: PASSWORD })
    return reply.json.response.challengeToken as string
  })
  const replies = await mapConcurrently(challenges, (challengeToken) =>
    post(balancer, 'login/v1/two_factor', { challengeToken, code }),
  )
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(401)])
})

testInstances('wrong passwords are counted across both instances', async () => {
  await using instances = await createTestInstances()
  await instances.here.register(EMAIL)
  const replies = await mapConcurrently(times(50), () =>
    post(instances.balancer, 'login/v1', { email: EMAIL, password: 'wrong password' }),
  )
  const statuses = replies.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([...Array(5).fill(401), ...Array(45).fill(429)])
})

function post(app: TestApp, path: string, json: unknown) {
  return app.ask('POST', `/api/auth/${path}`, { json })
}
