import { noise } from '../support/pictures.ts'
import type { Client } from './client.ts'
import type { User, Users } from './users.ts'

export type Files = Awaited<ReturnType<typeof createFiles>>

const PATH = '/api/user/attachments/v1'
/** Size of a log attached to a support ticket, in bytes. */
const LOG_SIZE = 20_000

/** Logs, which are stored unchanged, and images, which the server converts. */
export async function createFiles(client: Client, users: Users) {
  const { problems, askWithRetries } = client
  const photo = await noise(400, 300).jpeg({ quality: 80 }).toBuffer()
  return { uploadLog, uploadPicture, read, remove }

  async function uploadLog(user: User) {
    const text = `${crypto.randomUUID()} `.repeat(LOG_SIZE / 37)
    const body = Buffer.from(text)
    const key = await upload(user, 'type=supportTicket', 'text/plain', body)
    if (key) user.files.set(key, Bun.CryptoHasher.hash('sha256', body, 'hex'))
  }

  async function uploadPicture(user: User) {
    const key = await upload(user, 'type=publicAsset&targetType=webp', 'image/jpeg', photo)
    if (key) user.files.set(key, null)
  }

  async function read(user: User) {
    const [key] = [...user.files.keys()].slice(-1)
    if (key !== undefined) await check(user, key)
  }

  async function remove(user: User) {
    const [key] = user.files.keys()
    if (key === undefined) return
    const reply = await users.askAs(user, { method: 'DELETE', path: `${PATH}?key=${key}` })
    const isGone = reply.isRepeated && reply.status === 404
    if (isGone || users.succeeded(reply, 'the deletion of a file')) user.files.delete(key)
  }

  /** Every attempt uses the same idempotency key, so the file is stored once. */
  async function upload(user: User, query: string, type: string, body: Uint8Array) {
    const headers = { 'content-type': type, 'idempotency-key': crypto.randomUUID() }
    const reply = await users.askAs(user, {
      method: 'POST',
      path: `${PATH}?${query}`,
      body,
      headers,
    })
    if (!users.succeeded(reply, 'an upload')) return null
    return reply.json.response[0].key as string
  }

  async function check(user: User, key: string) {
    const found = await users.askAs(user, { method: 'GET', path: `${PATH}/download?key=${key}` })
    if (!users.succeeded(found, 'a file URL')) return
    const file = await askWithRetries({ method: 'GET', path: found.json.response.url })
    // The clock may have jumped past the expiry of the signed URL.
    if (file.status === 403 || file.status === 404) return
    if (!users.succeeded(file, 'a file')) return
    const expected = user.files.get(key)
    const hash = Bun.CryptoHasher.hash('sha256', file.bytes, 'hex')
    if (expected && expected !== hash) problems.push(`${key} differs from the upload`)
  }
}
