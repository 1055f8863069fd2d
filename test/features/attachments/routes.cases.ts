import type { RouteCase } from '../../support/route-case.ts'

const ATTACHMENTS = '/api/user/attachments/v1'
const UNKNOWN_KEY = `${'a'.repeat(26)}.txt`
const text = { 'content-type': 'text/plain' }

export const routes: RouteCase[] = [
  {
    method: 'GET',
    path: `${ATTACHMENTS}?limit=2`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}?after=nowhere`, status: 422 },
  },
  {
    method: 'POST',
    path: `${ATTACHMENTS}?type=supportTicket`,
    access: 'user',
    good: { body: 'text', headers: text },
    bad: { path: `${ATTACHMENTS}?type=other`, body: 'text', headers: text, status: 422 },
    oversize: { body: 'text', headers: { ...text, 'content-length': String(2 ** 30) } },
  },
  {
    method: 'GET',
    path: `${ATTACHMENTS}/download`,
    access: 'user',
    good: {},
    prepare: async (setup) => ({ path: `${ATTACHMENTS}/download?key=${await upload(setup)}` }),
    bad: { status: 422 },
  },
  {
    method: 'DELETE',
    path: ATTACHMENTS,
    access: 'user',
    good: {},
    prepare: async (setup) => ({ path: `${ATTACHMENTS}?key=${await upload(setup)}` }),
    bad: { path: `${ATTACHMENTS}?key=${UNKNOWN_KEY}`, status: 404 },
  },
]

async function upload({ app, user }: Parameters<NonNullable<RouteCase['prepare']>>[0]) {
  const request = { token: user.accessToken, body: 'text', headers: text }
  const stored = await app.ask('POST', `${ATTACHMENTS}?type=supportTicket`, request)
  return stored.json.response[0].key as string
}
