import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { createTaskQueue } from '../concurrency/slots.ts'
import { AppError } from '../errors.ts'
import { DAY_MS } from '../time/durations.ts'

/** Times are in ms; `kid` is the RFC 7638 thumbprint. */
type StoredKey = {
  jwk: JWK & { kid: string }
  /** When it takes effect; clients see it earlier. */
  from: number
  /** When it stops being accepted; null while it has no successor. */
  until: number | null
}

export type KeyRing = Awaited<ReturnType<typeof createKeyRing>>

/** A public key as a JWK (RFC 7517). */
export type PublicKey = Record<'kty' | 'crv' | 'x' | 'y' | 'kid' | 'use' | 'alg', string>

/** Storage for a secret text: a file, or a row that several instances share. */
export type StoredText = {
  /** Returns the stored text, or stores and returns what `make` creates. */
  readOrCreate: (make: () => Promise<string>) => Promise<string>
  /** Replaces the text that this instance last read or wrote. Throws `conflict` when it has changed since. */
  replace: (text: string) => Promise<void>
  /** Calls `onChange` with the text when another instance replaces it. */
  watch: (onChange: (text: string) => void) => void
}

type KeyRingDeps = {
  storage: StoredText
  use: 'sig' | 'enc'
  /** How long a key is accepted after its successor has taken effect. */
  gracePeriodMs: number
  now: () => Date
}

const ALGORITHMS = { sig: 'ES256', enc: 'ECDH-ES' } as const
/** How long a key is published before it takes effect. */
const PUBLISH_AHEAD_MS = DAY_MS

/** The P-256 keys for one use: the current key, the next one, and previous ones that are still accepted. */
export async function createKeyRing({ storage, use, gracePeriodMs, now }: KeyRingDeps) {
  const alg = ALGORITHMS[use]
  const exclusive = createTaskQueue({
    limit: 1,
    queueLimit: 100,
    onFull: () => new AppError('unavailable', 'The keys are being changed. Try again in a moment.'),
  })
  const imported = new Map<string, ReturnType<typeof importJWK>>()
  let keys = parseKeys(await storage.readOrCreate(makeKeyPair))
  storage.watch((text) => setKeys(parseKeys(text)))
  return { find, findJwk, findPublic, isAccepted, current, published, list, rotate, sweep }

  function current(): StoredKey {
    return list()[0] as StoredKey
  }

  /** Null when the key is not accepted. */
  async function find(kid: string) {
    const key = accepted().find(({ jwk }) => jwk.kid === kid)
    if (!key) return null
    const known = imported.get(kid) ?? importJWK(key.jwk, alg)
    imported.set(kid, known)
    return known
  }

  /** Returns the same object each time; null when the key is not accepted. */
  function findJwk(kid: string): JWK | null {
    return accepted().find(({ jwk }) => jwk.kid === kid)?.jwk ?? null
  }

  async function findPublic(kid: string) {
    const jwk = published().find((one) => one.kid === kid)
    if (!jwk) return null
    const name = `public ${kid}`
    const known = imported.get(name) ?? importJWK(jwk, alg)
    imported.set(name, known)
    return known
  }

  function isAccepted(kid: string): boolean {
    return accepted().some(({ jwk }) => jwk.kid === kid)
  }

  /** The public keys as JWKs: the current one first, previous ones last for apps that have pinned them. */
  function published(): PublicKey[] {
    return list().map(({ jwk: { kty = 'EC', crv = '', x = '', y = '', kid } }) => {
      return { kty, crv, x, y, kid, use, alg }
    })
  }

  /** All accepted keys: the current one, the next one, then previous ones. */
  function list() {
    const at = now().getTime()
    const newestFirst = accepted().toSorted((a, b) => b.from - a.from)
    const inUse = newestFirst.find(({ from }) => from <= at) ?? newestFirst.at(-1)
    const toState = (key: StoredKey) =>
      key === inUse ? 'current' : key.from > at ? 'next' : 'previous'
    const order = ['current', 'next', 'previous']
    return newestFirst
      .map((key) => ({ ...key, state: toState(key) }))
      .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  }

  /** The new key takes effect after a day, or now with `atOnce`, which refuses all others: they may be compromised. */
  function rotate(atOnce: boolean) {
    return exclusive(async () => {
      const at = now().getTime()
      if (atOnce) return storeKeys([{ jwk: await makeJwk(), from: at, until: null }])
      const waiting = keys.find(({ from }) => from > at)
      if (waiting) {
        const time = new Date(waiting.from).toISOString()
        throw new AppError(
          'conflict',
          `A new key takes effect at ${time}: use --now to rotate now.`,
        )
      }
      const next = { jwk: await makeJwk(), from: at + PUBLISH_AHEAD_MS, until: null }
      const until = next.from + gracePeriodMs
      await storeKeys([...accepted().map((key) => ({ ...key, until: key.until ?? until })), next])
    })
  }

  function sweep() {
    return exclusive(async () => {
      if (accepted().length < keys.length) await storeKeys(accepted())
    })
  }

  function accepted(): StoredKey[] {
    const at = now().getTime()
    return keys.filter(({ until }) => until === null || at < until)
  }

  async function storeKeys(next: StoredKey[]) {
    await storage.replace(JSON.stringify(next))
    setKeys(next)
  }

  function setKeys(next: StoredKey[]) {
    keys = next
    imported.clear()
  }
}

/** A key that was never rotated may be stored alone, without times. */
function parseKeys(text: string): StoredKey[] {
  const content: StoredKey[] | StoredKey['jwk'] = JSON.parse(text)
  return Array.isArray(content) ? content : [{ jwk: content, from: 0, until: null }]
}

/** Makes the first key pair, stored alone until it is rotated: tools for the first versions read only that form. */
export async function makeKeyPair(): Promise<string> {
  return JSON.stringify(await makeJwk())
}

async function makeJwk(): Promise<StoredKey['jwk']> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { ...jwk, kid: await calculateJwkThumbprint(jwk) }
}
