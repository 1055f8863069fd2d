import {
  listSessions,
  login,
  readSubscription,
  refresh,
  register,
  uploadAttachments,
} from './orval/fetch'

const [, password = '', email = ''] = process.argv.slice(2)
const headers = { device: 'Pixel 9', env: 'null' }

const registered = await register({ email, password }, { headers })
if (registered.status !== 200) throw new Error(registered.data.code)
console.log(registered.data.code, registered.data.response.user.email)

const failed = await login({ email, password: 'wrong' }, { headers })
console.log(failed.status, failed.data.code)
const challenge = await login({ email: 'bea@example.com', password }, { headers })
if (challenge.status === 200 && challenge.data.code === 'two_factor_required')
  console.log(challenge.data.code, challenge.data.response.challengeToken.length > 20)

const signedIn = await login({ email: 'ann@example.com', password }, { headers })
if (signedIn.status !== 200 || signedIn.data.code !== 'ok') throw new Error(signedIn.data.code)
console.log(signedIn.data.code, signedIn.data.response.user.email)

const { refreshToken } = signedIn.data.response
const refreshed = await refresh({ refreshToken }, { headers })
if (refreshed.status !== 200) throw new Error(refreshed.data.code)
console.log('refreshed', refreshed.data.response.refreshToken !== refreshToken)
const authorization = `Bearer ${refreshed.data.response.accessToken}`
const signedInHeaders = { ...headers, authorization }

const sessions = await listSessions({ headers: signedInHeaders })
if (sessions.status !== 200) throw new Error(sessions.data.code)
console.log(sessions.data.response.find(({ current }) => current)?.device)

// Header parameters are not arguments of the generated functions.
const stored = await uploadAttachments(
  { file: [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')] },
  { type: 'supportTicket' },
  { headers: { ...signedInHeaders, 'Idempotency-Key': crypto.randomUUID() } },
)
if (stored.status !== 200) throw new Error(stored.data.code)
console.log(stored.data.response.map(({ fileName }) => fileName).join(' '))

const subscription = await readSubscription(
  { environment: 'sandbox' },
  { headers: signedInHeaders },
)
if (subscription.status !== 200) throw new Error(subscription.data.code)
const { plan, entitlements } = subscription.data.response
console.log(plan?.code, entitlements.length)
