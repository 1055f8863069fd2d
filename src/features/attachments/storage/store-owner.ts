import { hostname } from 'node:os'
import type { StoredText } from '../../../lib/crypto/key-ring.ts'
import type { AppError } from '../../../lib/errors.ts'
import { KEPT_MS } from '../../../lib/files/replaced-data.ts'
import { newId } from '../../../lib/ids.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import { toOriginalKey } from '../images/variants.ts'
import type { S3Client } from './s3/client.ts'
import { StoreError } from './s3/fault.ts'
import { isFileKey } from './s3/files.ts'
import { storeUnavailable } from './s3/requests.ts'

/** In the store: who may delete objects. `token` changes at each sweep, so that a copy of the database is detected. */
type Owner = { store: string; place: string; token: string; name: string; since: number }
/** In the database. While a new token is being stored, both are valid. Without `token`, the store is being claimed. */
type Claim = { store?: string; token?: string; next?: string; since?: number }
/** In the store: the last server that used it without owning it. */
type Guest = { name: string; at: number }

/**
 * `guest`: the store belongs to another server. `shared`: a guest uses ours. `elsewhere`: the database uses another
 * store.
 */
type StoreState = { kind: 'owner' | 'guest' | 'shared' | 'elsewhere'; name: string }

export type StoreOwner = ReturnType<typeof createStoreOwner>

type StoreOwnerDeps = {
  /** Null for the local disk. */
  client: Pick<S3Client, 'getText' | 'putText' | 'list' | 'remove'> | null
  claim: StoredText
  /** Returns the id of the database; a copy has another id. */
  identify: () => Promise<string>
  isShared: boolean
  keysWithRow: (keys: string[]) => Promise<Set<string>>
  name: string | null
  now: () => Date
}

const OWNER = 'homeport-owner.json'
const GUEST = 'homeport-guest.json'
const STATE_LIFETIME_MS = 5 * MINUTE_MS
/** How many objects of a store without an owner are compared with the database. */
const SAMPLE_SIZE = 1_000

/**
 * Only the owner deletes files. An empty store belongs to the first server that uses it, a store of an earlier version to
 * the first whose database has most of its files.
 */
export function createStoreOwner({ client, now, ...deps }: StoreOwnerDeps) {
  const name = deps.name ?? hostname()
  let last: { at: number; state: Promise<StoreState> } | null = null
  return { state, describeProblem, mayDelete, beginSweep, claim: claimStore }

  /** At most five minutes old. Throws `unavailable` while the store does not respond. */
  function state(): Promise<StoreState> {
    if (last !== null && performance.now() - last.at < STATE_LIFETIME_MS) return last.state
    return refresh()
  }

  function refresh(): Promise<StoreState> {
    const current = { at: performance.now(), state: inspect() }
    last = current
    current.state.catch(() => {
      if (last === current) last = null
    })
    return current.state
  }

  /** Why this server deletes nothing from the store, and what to do; null if it is the owner. */
  async function describeProblem(): Promise<string | null> {
    const { kind, name: other } = await state()
    if (kind === 'owner') return null
    if (kind === 'elsewhere')
      return `The files of this database are in another store (${other}): set FILES_URL to that store on every instance, or run "homeport files claim" if they were moved.`
    const who =
      kind === 'guest'
        ? `The store at FILES_URL belongs to another server or database (${other})`
        : `Another server or database (${other}) uses the store of this one`
    return `${who}: files without a row are not deleted from it. Give each its own FILES_URL, or run "homeport files claim" on the only server that uses the store.`
  }

  /** Whether a removed file may be deleted from the store: for a guest, the owner may still have a row for it. */
  async function mayDelete(): Promise<boolean> {
    const { kind } = await state()
    return kind === 'owner' || kind === 'shared'
  }

  /** Whether files without a row may be deleted now; after a change of owner, they are kept for 30 days. */
  async function beginSweep(): Promise<boolean> {
    if ((await refresh()).kind !== 'owner') return false
    const owner = await readOwner()
    if (client === null || owner === null) return client === null
    const next = newId()
    await writeClaim({ store: owner.store, token: owner.token, next })
    await writeJson(OWNER, { ...owner, name, token: next })
    return now().getTime() - owner.since > KEPT_MS
  }

  /** Assigns the configured store to this database, and makes this server its owner. */
  async function claimStore(): Promise<StoreState> {
    await readClaim()
    if (client === null) await writeClaim({})
    else {
      const { store = newId() } = (await readOwner()) ?? {}
      await becomeOwner({ store, token: newId(), since: now().getTime() })
    }
    await client?.remove(GUEST)
    return refresh()
  }

  async function inspect(): Promise<StoreState> {
    const claim = await readClaim()
    if (client === null) {
      const isElsewhere = deps.isShared && claim.store !== undefined
      return { kind: isElsewhere ? 'elsewhere' : 'owner', name: 'an S3 store' }
    }
    const owner = await readOwner()
    if (owner === null) {
      if (claim.token === undefined) return claimUnowned(claim)
      return { kind: 'elsewhere', name: `its id is ${claim.store}` }
    }
    if (claim.store !== undefined && claim.store !== owner.store)
      return { kind: 'elsewhere', name: `its id is ${claim.store}` }
    if (owner.place === (await deps.identify()) && isCurrent(owner, await readClaim())) {
      const guest = await readJson<Guest>(GUEST)
      const isShared = guest !== null && now().getTime() - guest.at < KEPT_MS
      return isShared ? { kind: 'shared', name: guest.name } : { kind: 'owner', name }
    }
    return becomeGuest(owner.name)
  }

  async function becomeGuest(owner: string): Promise<StoreState> {
    await writeJson(GUEST, { name, at: now().getTime() })
    return { kind: 'guest', name: owner }
  }

  /** Several instances may do this at once: all store the same owner. */
  async function claimUnowned(claim: Claim): Promise<StoreState> {
    if (claim.store === undefined) {
      const { known, unknown } = await sampleFiles()
      if (unknown > known) return becomeGuest('unknown')
      const since = known + unknown === 0 ? 0 : now().getTime()
      await writeClaim({ store: newId(), next: newId(), since }).catch(ignoreConflict)
    }
    const { store = '', next: token = '', since = 0 } = await readClaim()
    await becomeOwner({ store, token, since }).catch(ignoreConflict)
    return inspect()
  }

  async function becomeOwner({ store, token, since }: Pick<Owner, 'store' | 'token' | 'since'>) {
    await writeJson(OWNER, { store, place: await deps.identify(), token, name, since })
    await writeClaim({ store, token })
  }

  async function sampleFiles() {
    const keys: string[] = []
    for await (const { key } of client?.list() ?? []) {
      if (isFileKey(key)) keys.push(toOriginalKey(key))
      if (keys.length === SAMPLE_SIZE) break
    }
    const originals = new Set(keys)
    const known = (await deps.keysWithRow([...originals])).size
    return { known, unknown: originals.size - known }
  }

  async function readClaim(): Promise<Claim> {
    return JSON.parse(await deps.claim.readOrCreate(async () => '{}'))
  }

  async function writeClaim(claim: Claim) {
    await deps.claim.replace(JSON.stringify(claim))
  }

  function readOwner() {
    return readJson<Owner>(OWNER)
  }

  async function readJson<T>(key: string): Promise<T | null> {
    const text = (await client?.getText(key)) ?? null
    try {
      return text === null ? null : JSON.parse(text)
    } catch {
      const reason = `${key} in the object store is not what homeport wrote: check that FILES_URL is a store that returns what it stores`
      throw storeUnavailable(new StoreError(reason, false))
    }
  }

  async function writeJson(key: string, value: unknown) {
    await client?.putText(key, JSON.stringify(value))
  }
}

function isCurrent({ store, token }: Owner, claim: Claim): boolean {
  return store === claim.store && (token === claim.token || token === claim.next)
}

/** On a conflict, another instance was first. */
function ignoreConflict(error: unknown) {
  if ((error as AppError).code !== 'conflict') throw error
}
