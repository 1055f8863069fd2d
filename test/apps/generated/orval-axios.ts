import axios, { isAxiosError } from 'axios'
import {
  type Failure,
  listSessions,
  login,
  readSubscription,
  refresh,
  register,
  uploadAttachments,
} from './orval/axios-functions'

const [baseURL = '', password = '', email = ''] = process.argv.slice(2)
axios.defaults.baseURL = baseURL
Object.assign(axios.defaults.headers.common, { device: 'Pixel 9', env: 'null' })

const registered = (await register({ email, password })).data
console.log(registered.code, registered.response.user.email)

await login({ email, password: 'wrong' }).catch((error: unknown) => {
  if (isAxiosError<Failure>(error)) console.log(error.response?.status, error.response?.data.code)
})
const challenge = (await login({ email: 'bea@example.com', password })).data
if (challenge.code === 'two_factor_required')
  console.log(challenge.code, challenge.response.challengeToken.length > 20)

const signedIn = (await login({ email: 'ann@example.com', password })).data
if (signedIn.code !== 'ok') throw new Error(signedIn.code)
console.log(signedIn.code, signedIn.response.user.email)

const { refreshToken } = signedIn.response
const session = (await refresh({ refreshToken })).data.response
console.log('refreshed', session.refreshToken !== refreshToken)
axios.defaults.headers.common.Authorization = `Bearer ${session.accessToken}`

const sessions = (await listSessions()).data.response
console.log(sessions.find(({ current }) => current)?.device)

// Header parameters are not arguments of the generated functions.
const stored = await uploadAttachments(
  { file: [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')] },
  { type: 'supportTicket' },
  { headers: { 'Idempotency-Key': crypto.randomUUID() } },
)
console.log(stored.data.response.map(({ fileName }) => fileName).join(' '))

const { plan, entitlements } = (await readSubscription({ environment: 'sandbox' })).data.response
console.log(plan?.code, entitlements.length)
