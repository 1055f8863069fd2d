import { listSessions, login, readSubscription, refresh, register, uploadAttachments } from './sdk'
import { client } from './sdk/client.gen'

const [baseUrl = '', password = '', email = ''] = process.argv.slice(2)
let accessToken: string | undefined
client.setConfig({
  baseUrl,
  headers: { device: 'Pixel 9', env: 'null' },
  auth: () => accessToken,
})

const registered = await register({ body: { email, password }, throwOnError: true })
console.log(registered.data.code, registered.data.response.user.email)

const failed = await login({ body: { email, password: 'wrong' } })
console.log(failed.response?.status, failed.error?.code)
const challenge = await login({ body: { email: 'bea@example.com', password }, throwOnError: true })
if (challenge.data.code === 'two_factor_required')
  console.log(challenge.data.code, challenge.data.response.challengeToken.length > 20)

const signedIn = await login({ body: { email: 'ann@example.com', password }, throwOnError: true })
if (signedIn.data.code !== 'ok') throw new Error(signedIn.data.code)
console.log(signedIn.data.code, signedIn.data.response.user.email)

const { refreshToken } = signedIn.data.response
const refreshed = await refresh({ body: { refreshToken }, throwOnError: true })
console.log('refreshed', refreshed.data.response.refreshToken !== refreshToken)
accessToken = refreshed.data.response.accessToken

const sessions = await listSessions({ throwOnError: true })
console.log(sessions.data.response.find(({ current }) => current)?.device)

const stored = await uploadAttachments({
  body: { file: [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')] },
  query: { type: 'supportTicket' },
  headers: { 'Idempotency-Key': crypto.randomUUID() },
  throwOnError: true,
})
console.log(stored.data.response.map(({ fileName }) => fileName).join(' '))

const subscription = await readSubscription({
  query: { environment: 'sandbox' },
  throwOnError: true,
})
const { plan, entitlements } = subscription.data.response
console.log(plan?.code, entitlements.length)
