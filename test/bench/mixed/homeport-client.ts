import { WEBHOOK_TOKEN } from '../servers.ts'
import {
  ask,
  type Client,
  createEventFactory,
  createPicturePool,
  encodeRequest,
  forEachTwoAtATime,
  PASSWORD,
  type User,
  WEBHOOK_PATH,
  type World,
} from './client.ts'
import type { Exchange } from './connection-pool.ts'
import { createRandom, type Kind, pick } from './mix.ts'
import { isGood } from './open-loop.ts'
import type { Reply } from './reply-reader.ts'

export type Session = { accessToken: string; refreshToken: string; user: { _id: string } }
type Subscription = { subscriptions: { expiresAt: string }[] }
type SessionUser = User & { state: 'idle' | 'refreshing' | 'lost'; renewedAt: number }

export const UPLOAD_PATH =
  '/api/user/attachments/v1?type=publicAsset&targetType=webp&compression=true'
export const SUBSCRIPTION_PATH = '/api/user/subscription/v1'
const PROFILE_PATH = '/api/user/profile/v1'
const LOGIN_PATH = '/api/auth/login/v1'
const REFRESH_PATH = '/api/auth/refresh/v1'
/** In ms; access tokens are valid for 15 minutes. */
const RENEW_AFTER = 5 * 60_000

/** A client for Homeport's API, which the Node stack implements too. */
export async function createHomeportClient(world: World): Promise<Client> {
  const { port } = world
  const random = createRandom(port)
  const users: SessionUser[] = world.users.map((user) => ({
    ...user,
    state: 'idle',
    renewedAt: Date.now(),
  }))
  const pictures = createPicturePool(world.pictures)
  const makeEvent = createEventFactory()
  const paidUntil = new Map<SessionUser, number>()
  const count = { events: 0, uploads: 0, sent: 0 }
  const photo = await Bun.file(world.photo).bytes()
  const reads = world.reads.map(({ path, etag }) =>
    encodeRequest('GET', path, { headers: { 'If-None-Match': etag ?? '' } }),
  )
  return { port, createExchange, renew, acknowledged: () => count, check }

  function createExchange(kind: Kind): Exchange {
    if (kind === 'read') return { bytes: pick(reads, random), accept: ignore }
    if (kind === 'refresh') return refresh()
    if (kind === 'webhook') return deliver()
    if (kind === 'upload') return upload()
    if (kind === 'download') {
      return { bytes: encodeRequest('GET', pictures.next(random)), accept: ignore }
    }
    const { accessToken: token, email } = pick(users, random)
    if (kind === 'signIn') {
      const json = { email, password: PASSWORD }
      return { bytes: encodeRequest('POST', LOGIN_PATH, { json }), accept: ignore }
    }
    const path = kind === 'profile' ? PROFILE_PATH : SUBSCRIPTION_PATH
    return { bytes: encodeRequest('GET', path, { token }), accept: ignore }
  }

  /** A phone never exchanges a token twice at once, so only an idle user refreshes. */
  function refresh(): Exchange {
    let user = pick(users, random)
    while (user.state !== 'idle' && users.some(({ state }) => state === 'idle')) {
      user = pick(users, random)
    }
    user.state = 'refreshing'
    const json = { refreshToken: user.refreshToken }
    return {
      bytes: encodeRequest('POST', REFRESH_PATH, { json }),
      accept(reply) {
        if (isGood(reply)) storeSession(user, JSON.parse(reply.body.toString()).response)
        else user.state = 'lost'
      },
    }
  }

  function deliver(): Exchange {
    const user = pick(users, random)
    const event = makeEvent('RENEWAL', user)
    const json = { api_version: '1.0', event }
    count.sent++
    return {
      bytes: encodeRequest('POST', WEBHOOK_PATH, { json, token: WEBHOOK_TOKEN }),
      accept(reply) {
        if (!isGood(reply)) return
        count.events++
        paidUntil.set(user, Math.max(paidUntil.get(user) ?? 0, event.expiration_at_ms))
      },
    }
  }

  function upload(): Exchange {
    const { accessToken: token } = pick(users, random)
    const headers = { 'Content-Type': 'image/jpeg' }
    return {
      bytes: encodeRequest('POST', UPLOAD_PATH, { token, headers, body: photo }),
      accept(reply) {
        if (!isGood(reply)) return
        count.uploads++
        const { response } = JSON.parse(reply.body.toString()) as { response: { url: string }[] }
        pictures.add(new URL(response[0]?.url ?? '').pathname)
      },
    }
  }

  async function renew() {
    await forEachTwoAtATime(users, async (user) => {
      if (user.state === 'lost') {
        const json = { email: user.email, password: PASSWORD }
        storeSession(
          user,
          (await ask<{ response: Session }>(port, 'POST', LOGIN_PATH, { json })).response,
        )
      } else if (Date.now() - user.renewedAt > RENEW_AFTER) {
        const json = { refreshToken: user.refreshToken }
        storeSession(
          user,
          (await ask<{ response: Session }>(port, 'POST', REFRESH_PATH, { json })).response,
        )
      }
    })
  }

  function storeSession(user: SessionUser, { accessToken, refreshToken }: Session) {
    Object.assign(user, { accessToken, refreshToken, state: 'idle', renewedAt: Date.now() })
  }

  /**
   * Checks that each purchase includes its acknowledged renewals, and that the latest uploads are
   * WebP.
   */
  async function check(): Promise<string[]> {
    const faults: string[] = []
    await renew()
    await forEachTwoAtATime([...paidUntil], async ([{ accessToken: token, email }, until]) => {
      const { response } = await ask<{ response: Subscription }>(port, 'GET', SUBSCRIPTION_PATH, {
        token,
      })
      const expiresAt = Date.parse(response.subscriptions[0]?.expiresAt ?? '')
      if (!(expiresAt >= until))
        faults.push(`${email} should be paid until ${until}, but has ${expiresAt}`)
    })
    await forEachTwoAtATime(pictures.uploaded.slice(-20), async (path) => {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`)
      const bytes = Buffer.from(await reply.arrayBuffer())
      if (bytes.toString('latin1', 8, 12) !== 'WEBP') faults.push(`${path} is not a WebP`)
    })
    return faults
  }
}

function ignore(_reply: Reply | null) {}
