import { PASSWORD, WEBHOOK_TOKEN } from './app.ts'

type Server = { url: string }

export function requesterFor({ url }: Server) {
  return async (method: string, path: string, init: RequestInit = {}) => {
    const reply = await fetch(url + path, { ...init, method })
    const isJson = reply.headers.get('content-type')?.startsWith('application/json')
    // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
    const body: any = isJson ? await reply.json() : await reply.text()
    return { status: reply.status, body }
  }
}

export async function register(server: Server, email: string) {
  const reply = await postJson(server, '/api/auth/register/v1', { email, password: PASSWORD })
  const { response } = (await reply.json()) as {
    response: { accessToken: string; refreshToken: string; user: { _id: string } }
  }
  return response
}

export function signIn(server: Server, email: string) {
  return postJson(server, '/api/auth/login/v1', { email, password: PASSWORD })
}

/** Delivers an event that concerns no purchase. A `note` makes it larger. */
export async function deliver(server: Server, id: string, note = '') {
  const type = 'SUBSCRIBER_ALIAS'
  const event = { id, type, app_user_id: 'ann', event_timestamp_ms: 1_783_000_000_000, note }
  const reply = await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  const { code } = (await reply.json()) as { code: string }
  return { status: reply.status, code }
}

/** Uploads 200 characters and returns the URL of the file. */
export async function uploadText(server: Server, token: string, id: string): Promise<string> {
  const reply = await fetch(`${server.url}/api/user/attachments/v1?type=supportTicket`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: id.padEnd(200, '.'),
  })
  const { response } = (await reply.json()) as { response: { url: string }[] }
  return response[0]?.url ?? ''
}

export function postJson({ url }: Server, path: string, body: unknown, token = '') {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
}
