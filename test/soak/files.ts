import { noise } from '../support/pictures.ts'
import type { Asking } from './asking.ts'
import type { People, Person } from './people.ts'

export type Files = Awaited<ReturnType<typeof createFiles>>

const PATH = '/api/user/attachments/v1'
/** Size of a log attached to a support ticket, in bytes. */
const LOG_SIZE = 20_000

/** Logs, which are stored unchanged, and images, which the server converts. */
export async function createFiles(asking: Asking, people: People) {
  const { wrong, persist } = asking
  const photo = await noise(400, 300).jpeg({ quality: 80 }).toBuffer()
  return { uploadLog, uploadPicture, read, remove }

  async function uploadLog(person: Person) {
    const text = `${crypto.randomUUID()} `.repeat(LOG_SIZE / 37)
    const body = Buffer.from(text)
    const key = await upload(person, 'type=supportTicket', 'text/plain', body)
    if (key) person.files.set(key, Bun.CryptoHasher.hash('sha256', body, 'hex'))
  }

  async function uploadPicture(person: Person) {
    const key = await upload(person, 'type=publicAsset&targetType=webp', 'image/jpeg', photo)
    if (key) person.files.set(key, null)
  }

  async function read(person: Person) {
    const [key] = [...person.files.keys()].slice(-1)
    if (key !== undefined) await check(person, key)
  }

  async function remove(person: Person) {
    const [key] = person.files.keys()
    if (key === undefined) return
    const reply = await people.askAs(person, { method: 'DELETE', path: `${PATH}?key=${key}` })
    const isGone = reply.isRepeated && reply.status === 404
    if (isGone || people.succeeded(reply, 'the deletion of a file')) person.files.delete(key)
  }

  /** Every attempt uses the same idempotency key, so the file is stored once. */
  async function upload(person: Person, query: string, type: string, body: Uint8Array) {
    const headers = { 'content-type': type, 'idempotency-key': crypto.randomUUID() }
    const reply = await people.askAs(person, {
      method: 'POST',
      path: `${PATH}?${query}`,
      body,
      headers,
    })
    if (!people.succeeded(reply, 'an upload')) return null
    return reply.json.response[0].key as string
  }

  async function check(person: Person, key: string) {
    const found = await people.askAs(person, { method: 'GET', path: `${PATH}/download?key=${key}` })
    if (!people.succeeded(found, 'the address of a file')) return
    const file = await persist({ method: 'GET', path: found.json.response.url })
    // The clock may have jumped past the expiry of the signed URL.
    if (file.status === 403 || file.status === 404) return
    if (!people.succeeded(file, 'a file')) return
    const wanted = person.files.get(key)
    const hash = Bun.CryptoHasher.hash('sha256', file.bytes, 'hex')
    if (wanted && wanted !== hash) wrong.push(`${key} differs from the upload`)
  }
}
