import { existsSync } from 'node:fs'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { writeDurably } from '../lib/durable-file.ts'
import { AppError } from '../lib/errors.ts'
import { createSemaphore } from '../lib/semaphore.ts'

/** A P-256 private key with its RFC 7638 thumbprint, and when it is the one in use; times in ms. */
type StoredKey = {
  jwk: JWK & { kid: string }
  /** From then on clients seal for it. Before, it is published so that it can become known. */
  from: number
  /** From then on nothing that was sealed for it is opened; null while no successor is planned. */
  until: number | null
}

export type EncryptionKeys = Awaited<ReturnType<typeof createEncryptionKeys>>

const HOUR = 60 * 60 * 1000
/** How long before its use a key is published, and how long after it is still accepted, in ms. */
const PUBLISH_AHEAD = 24 * HOUR
const ACCEPTED_AFTER = 30 * 24 * HOUR

/** The ECDH keys that requests are sealed for: the one in use, one that is to come, older ones. */
export async function createEncryptionKeys({ path, now }: { path: string; now: () => Date }) {
  const exclusive = createSemaphore({
    limit: 1,
    queueLimit: 100,
    onFull: () => new AppError('unavailable', 'The keys are busy.'),
  })
  const imported = new Map<string, ReturnType<typeof importJWK>>()
  let keys: StoredKey[] = existsSync(path) ? await Bun.file(path).json() : []
  if (keys.length === 0) await keep([await makeKey(now().getTime())])
  return { find, published, list, rotate, sweep }

  /** The private key of a thumbprint while it is accepted, else null. */
  async function find(kid: string) {
    const key = accepted().find(({ jwk }) => jwk.kid === kid)
    if (!key) return null
    const known = imported.get(kid) ?? importJWK(key.jwk, 'ECDH-ES')
    imported.set(kid, known)
    return known
  }

  /** The public keys as JWKs, the one to use first; older ones last, for apps that have pinned them. */
  function published(): JWK[] {
    return list().map(({ jwk: { kty = 'EC', crv = '', x = '', y = '', kid } }) => {
      return { kty, crv, x, y, kid, use: 'enc', alg: 'ECDH-ES' }
    })
  }

  /** All accepted keys: the one in use, the next, then the previous ones. */
  function list() {
    const at = now().getTime()
    const newestFirst = accepted().toSorted((a, b) => b.from - a.from)
    const current = newestFirst.find(({ from }) => from <= at) ?? newestFirst.at(-1)
    const stateOf = (key: StoredKey) =>
      key === current ? 'current' : key.from > at ? 'next' : 'previous'
    const order = ['current', 'next', 'previous']
    return newestFirst
      .map((key) => ({ ...key, state: stateOf(key) }))
      .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  }

  /**
   * Makes a key that is used after a day, and ends the one in use 30 days after that. With `atOnce` it
   * is used now and every other one is refused from now on: for keys that somebody else may know.
   */
  function rotate(atOnce: boolean) {
    return exclusive(async () => {
      const at = now().getTime()
      if (atOnce) return keep([await makeKey(at)])
      const waiting = keys.find(({ from }) => from > at)
      if (waiting) {
        const time = new Date(waiting.from).toISOString()
        throw new AppError('conflict', `A new key comes into use at ${time}; --now makes one now.`)
      }
      const next = await makeKey(at + PUBLISH_AHEAD)
      const until = next.from + ACCEPTED_AFTER
      await keep([...accepted().map((key) => ({ ...key, until: key.until ?? until })), next])
    })
  }

  /** Destroys keys that are not accepted any more: what was sealed for them stays sealed for ever. */
  function sweep() {
    return exclusive(async () => {
      if (accepted().length < keys.length) await keep(accepted())
    })
  }

  function accepted(): StoredKey[] {
    const at = now().getTime()
    return keys.filter(({ until }) => until === null || at < until)
  }

  async function keep(next: StoredKey[]) {
    await writeDurably(path, JSON.stringify(next), 0o600)
    keys = next
    for (const kid of imported.keys()) {
      if (!keys.some(({ jwk }) => jwk.kid === kid)) imported.delete(kid)
    }
  }
}

async function makeKey(from: number): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true })
  const jwk = await exportJWK(privateKey)
  return { jwk: { ...jwk, kid: await calculateJwkThumbprint(jwk) }, from, until: null }
}
