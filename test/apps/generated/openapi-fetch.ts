import createClient, { type Middleware } from 'openapi-fetch'
import type { paths } from './openapi-typescript/schema'

const [baseUrl = '', password = '', email = ''] = process.argv.slice(2)
let tokens: { accessToken: string; refreshToken: string } | undefined

const client = createClient<paths>({ baseUrl, headers: { device: 'Pixel 9', env: 'null' } })
const authorize: Middleware = {
  onRequest({ request }) {
    if (tokens) request.headers.set('Authorization', `Bearer ${tokens.accessToken}`)
  },
}
client.use(authorize)

const login = async (body: { email: string; password: string }) => {
  const { data, error, response } = await client.POST('/api/auth/login/v1', { body })
  if (!data) throw new Error(`${response.status} ${error.code}`)
  return data
}

const registered = await client.POST('/api/auth/register/v1', { body: { email, password } })
if (!registered.data) throw new Error(registered.error.code)
console.log(registered.data.code, registered.data.response.user.email)

console.log(await login({ email, password: 'wrong' }).catch((error) => error.message))
const challenge = await login({ email: 'bea@example.com', password })
if (challenge.code === 'two_factor_required')
  console.log(challenge.code, challenge.response.challengeToken.length > 20)

const signedIn = await login({ email: 'ann@example.com', password })
if (signedIn.code !== 'ok') throw new Error(signedIn.code)
console.log(signedIn.code, signedIn.response.user.email)
tokens = signedIn.response

const { refreshToken } = tokens
const refreshed = await client.POST('/api/auth/refresh/v1', { body: { refreshToken } })
if (!refreshed.data) throw new Error(refreshed.error.code)
console.log('refreshed', refreshed.data.response.refreshToken !== refreshToken)
tokens = refreshed.data.response

const sessions = await client.GET('/api/auth/sessions/v1')
console.log(sessions.data?.response.find(({ current }) => current)?.device)

// This generator types a file as text, so a serializer adds the files themselves.
const files = [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')]
const stored = await client.POST('/api/user/attachments/v1', {
  params: { query: { type: 'supportTicket' }, header: { 'Idempotency-Key': crypto.randomUUID() } },
  body: {},
  bodySerializer: () => {
    const form = new FormData()
    for (const file of files) form.append('file', file)
    return form
  },
})
console.log(stored.data?.response.map(({ fileName }) => fileName).join(' '))

const subscription = await client.GET('/api/user/subscription/v1', {
  params: { query: { environment: 'sandbox' } },
})
console.log(subscription.data?.response.plan?.code, subscription.data?.response.entitlements.length)
