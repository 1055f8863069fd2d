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

const BOUNDARY = 'bench-picture'
export const USERS = '/api/collections/users'
const UPLOAD_PATH = '/api/collections/pictures/records'
/** The thumbnail used instead of the WebP that the other servers create on upload. */
const THUMB = '?thumb=800x0'

export type Upload = { id: string; file: string }

/** A client for PocketBase's API, where a session is one token that a refresh replaces. */
export async function createPocketBaseClient(world: World): Promise<Client> {
  const { port, users } = world
  const random = createRandom(port)
  const pictures = createPicturePool(world.pictures)
  const makeEvent = createEventFactory()
  const paidUntil = new Map<User, number>()
  const count = { events: 0, uploads: 0, sent: 0 }
  const form = formOf(await Bun.file(world.photo).bytes())
  const reads = world.reads.map(({ path }) => encodeRequest('GET', path))
  // PocketBase tokens are valid for days.
  const renew = async () => {}
  return { port, createExchange, renew, acknowledged: () => count, check }

  function createExchange(kind: Kind): Exchange {
    if (kind === 'read') return { bytes: pick(reads, random), accept: ignore }
    if (kind === 'webhook') return deliver()
    if (kind === 'upload') return upload()
    if (kind === 'download') {
      return { bytes: encodeRequest('GET', pictures.next(random)), accept: ignore }
    }
    const user = pick(users, random)
    if (kind === 'refresh') return refresh(user)
    if (kind === 'signIn') {
      const json = { identity: user.email, password: PASSWORD }
      return {
        bytes: encodeRequest('POST', `${USERS}/auth-with-password`, { json }),
        accept: ignore,
      }
    }
    const path = kind === 'profile' ? `${USERS}/records/${user.id}` : user.subscription
    return { bytes: encodeRequest('GET', path, { token: user.accessToken }), accept: ignore }
  }

  function refresh(user: User): Exchange {
    return {
      bytes: encodeRequest('POST', `${USERS}/auth-refresh`, {
        token: user.accessToken,
        json: {},
      }),
      accept(reply) {
        if (isGood(reply)) user.accessToken = JSON.parse(reply.body.toString()).token
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
    return {
      bytes: encodeRequest('POST', UPLOAD_PATH, { token, ...form }),
      accept(reply) {
        if (!isGood(reply)) return
        count.uploads++
        pictures.add(pathOf(JSON.parse(reply.body.toString())))
      },
    }
  }

  /**
   * Checks that each purchase includes its acknowledged renewals, and that the latest uploads are
   * JPEGs.
   */
  async function check(): Promise<string[]> {
    const faults: string[] = []
    await forEachTwoAtATime(
      [...paidUntil],
      async ([{ subscription, accessToken: token, email }, until]) => {
        const { expiresAt } = await ask<{ expiresAt: number }>(port, 'GET', subscription, { token })
        if (!(expiresAt >= until))
          faults.push(`${email} should be paid until ${until}, but has ${expiresAt}`)
      },
    )
    await forEachTwoAtATime(pictures.uploaded.slice(-20), async (path) => {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`)
      const bytes = Buffer.from(await reply.arrayBuffer())
      if (bytes.readUInt16BE(0) !== 0xffd8) faults.push(`${path} is not a JPEG`)
    })
    return faults
  }
}

/** An image as a form, which PocketBase requires for files. */
export function formOf(photo: Uint8Array) {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="photo.jpg"\r\nContent-Type: image/jpeg\r\n\r\n`
  const body = Buffer.concat([Buffer.from(head), photo, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)])
  return { headers: { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }, body }
}

/** An upload's path: a thumbnail that the first read creates. */
export function pathOf({ id, file }: Upload): string {
  return `/api/files/pictures/${id}/${file}${THUMB}`
}

function ignore(_reply: Reply | null) {}
