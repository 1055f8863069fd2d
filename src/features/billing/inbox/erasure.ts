import { asc, type Column, eq, inArray } from 'drizzle-orm'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import { hmac } from '../../../lib/crypto/hash.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import type { Backlog } from '../projection/backlog.ts'
import type { Projection } from '../projection/projection.ts'
import type { BillingDb } from '../schema.ts'
import type { BillingEvent, Delivery } from './event.ts'
import { type EventLog, utf8 } from './event-log.ts'
import type { SignedRecords } from './signed-records.ts'

export type Erasure = ReturnType<typeof createErasure>

type ErasureDeps = {
  db: BillingDb
  projection: Projection
  backlog: Backlog
  signedRecords: Pick<SignedRecords, 'erase'>
  eventLog: Pick<EventLog, 'readEvent' | 'readRow'>
  existingUsers: ExistingUsers
  pseudonymKey: Uint8Array
}

/** Keeps the events of deleted users, without their personal data. */
export function createErasure(deps: ErasureDeps) {
  const { db, projection, backlog, eventLog, signedRecords, existingUsers, pseudonymKey } = deps
  const { billingEvents, billingAliases, billingTombstones } = db.tables
  const { transferIds, subscriptions, purchaseOwners } = db.tables
  const hasTombstones = db.cached('tombstones', async (from) => {
    return (await from.select().from(billingTombstones).limit(1)).length > 0
  })
  return { eraseUser, pseudonymize, exportIds, exportEvents }

  /**
   * Replaces ids with pseudonyms, drops the provider's attributes, and folds the purchases again. Keeps the hash of the
   * received body.
   */
  async function eraseUser(tx: Tx, userId: string) {
    const ids = await findIds(tx, userId)
    await tx
      .insert(billingTombstones)
      .values(ids.map((id) => ({ pseudonym: toPseudonym(id) })))
      .onConflictDoNothing()
    await hasTombstones.invalidate(tx)
    const rows = await scrubEvents(tx, ids)
    await signedRecords.erase(
      tx,
      rows.map(({ id }) => id),
    )
    await renameCustomers(tx, ids)
    await tx.delete(billingAliases).where(inArray(billingAliases.appUserId, ids))
    await tx.delete(transferIds).where(inArray(transferIds.appUserId, ids))
    for (const row of rows) {
      const event = eventLog.readRow(row)
      if (event) await projection.relink(tx, event, row.id)
    }
    const purchaseKeys = new Set(rows.flatMap(({ purchaseKey }) => purchaseKey ?? []))
    await projection.restart(tx, [...purchaseKeys])
    backlog.wakeAfter(tx)
  }

  /** A customer's id is that of one of its users. If other users remain, the customer gets one of their ids. */
  async function renameCustomers(tx: Tx, ids: string[]) {
    const [heir] = await findOtherIds(tx, ids)
    if (heir === undefined) return
    for (const table of [billingAliases, subscriptions, purchaseOwners, transferIds]) {
      await tx.update(table).set({ customerId: heir }).where(inArray(table.customerId, ids))
    }
  }

  /** The remaining ids of the same customers, in order. */
  async function findOtherIds(from: Reader, ids: string[]): Promise<string[]> {
    const own = await from
      .selectDistinct({ customerId: billingAliases.customerId })
      .from(billingAliases)
      .where(inArray(billingAliases.appUserId, ids))
    if (own.length === 0) return []
    const customers = own.map(({ customerId }) => customerId)
    const rows = await from
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, customers))
      .orderBy(asc(billingAliases.appUserId))
    return rows.flatMap(({ id }) => (ids.includes(id) ? [] : [id]))
  }

  /** The ids under which the billing provider knows a user, for the export. */
  function exportIds(userId: string): Promise<string[]> {
    return findIds(db.read, userId)
  }

  /** Other owners of the purchases appear under pseudonyms and without attributes. */
  async function exportEvents(userId: string) {
    const ids = await findIds(db.read, userId)
    const rows = await findEventsAbout(db.read, ids)
    return rows
      .toSorted((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())
      .map(({ receivedAt, provider, body }) => ({
        receivedAt: receivedAt.toISOString(),
        body: utf8(withoutOthers(provider, body, ids)),
      }))
  }

  function withoutOthers(provider: string, body: Uint8Array, ids: string[]): Uint8Array {
    const event = eventLog.readEvent(provider, body)
    const others = event ? listIds(event).filter((id) => !ids.includes(id)) : []
    return others.length === 0 ? body : withoutPersonalData(body, others)
  }

  async function pseudonymize(tx: Tx, delivery: Delivery): Promise<Delivery> {
    const { event, bytes } = delivery
    if (!(await hasTombstones.readWithin(tx))) return delivery
    const byPseudonym = new Map(listIds(event).map((id) => [toPseudonym(id), id]))
    if (byPseudonym.size === 0) return delivery
    const deleted = await tx
      .select()
      .from(billingTombstones)
      .where(inArray(billingTombstones.pseudonym, [...byPseudonym.keys()]))
    if (deleted.length === 0) return delivery
    const scrubbed = withoutPersonalData(
      bytes,
      deleted.map(({ pseudonym }) => byPseudonym.get(pseudonym) ?? ''),
    )
    const rewritten = eventLog.readEvent(delivery.provider, scrubbed)
    const { signed: _signed, ...kept } = delivery
    return {
      ...kept,
      event: rewritten ? { ...rewritten, id: event.id } : event,
      bytes: scrubbed,
    }
  }

  async function findIds(from: Reader, userId: string): Promise<string[]> {
    const [alias] = await from
      .select()
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, userId))
    if (!alias) return [userId]
    const rows = await from
      .select({ appUserId: billingAliases.appUserId })
      .from(billingAliases)
      .where(eq(billingAliases.customerId, alias.customerId))
      .orderBy(asc(billingAliases.appUserId))
    const ids = rows.map(({ appUserId }) => appUserId)
    const users = await existingUsers(from, ids)
    const otherUsers = new Set(users.filter((id) => id !== userId))
    return ids.filter((id) => !otherUsers.has(id))
  }

  /** Rewrites every event about one of `ids` and returns them. */
  async function scrubEvents(tx: Tx, ids: string[]) {
    const scrubbed = (await findEventsAbout(tx, ids)).map((row) => ({
      ...row,
      body: withoutPersonalData(row.body, ids),
      appUserId: ids.includes(row.appUserId ?? '')
        ? toPseudonym(row.appUserId ?? '')
        : row.appUserId,
    }))
    // Old telemetry has no content, and a user may have thousands of such events.
    const byContent = Map.groupBy(scrubbed, (row) => `${row.appUserId} ${utf8(row.body)}`)
    for (const rows of byContent.values()) {
      const { body, appUserId } = rows[0] as (typeof rows)[number]
      for (const batch of chunk(rows, ROWS_PER_UPDATE)) {
        const isInBatch = inArray(
          billingEvents.id,
          batch.map(({ id }) => id),
        )
        await tx.update(billingEvents).set({ body, appUserId }).where(isInBatch)
      }
    }
    return scrubbed
  }

  /** Every event that names one of `ids` or concerns one of their purchases, in the order of receipt. */
  async function findEventsAbout(from: Reader, ids: string[]) {
    const transfers = await from
      .select({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(inArray(transferIds.appUserId, ids))
    const transferRows = transfers.map(({ eventRow }) => eventRow)
    const matches = [
      ...(await findEventsWhere(from, billingEvents.appUserId, ids)),
      ...(await findEventsWhere(from, billingEvents.id, transferRows)),
      ...(await findEventsOfOthers(from, ids)),
    ]
    const purchaseKeys = matches.flatMap(({ purchaseKey }) => purchaseKey ?? [])
    const siblings = await findEventsWhere(from, billingEvents.purchaseKey, purchaseKeys)
    const byId = new Map([...matches, ...siblings].map((row) => [row.id, row]))
    return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Events of other users of the same customer that name one of `ids`, for example as an alias. */
  async function findEventsOfOthers(from: Reader, ids: string[]) {
    const rows = await findEventsWhere(from, billingEvents.appUserId, await findOtherIds(from, ids))
    return rows.filter(({ provider, body }) => {
      const event = eventLog.readEvent(provider, body)
      return event !== null && listIds(event).some((id) => ids.includes(id))
    })
  }

  /** One column per query: with an OR of two lists, one of them empty, SQLite would scan the whole log. */
  async function findEventsWhere(from: Reader, column: Column, values: string[]) {
    if (values.length === 0) return []
    return await from
      .select()
      .from(billingEvents)
      .where(inArray(column, [...new Set(values)]))
  }

  function withoutPersonalData(bytes: Uint8Array, ids: string[]): Buffer {
    const names = new Set(ids)
    const text = JSON.stringify(JSON.parse(utf8(bytes)), (key, value) => {
      if (key === 'subscriber_attributes' || key === 'support') return undefined
      if (typeof value !== 'string') return value
      // Apps may pass an account token to the App Store in upper case; the id of the event is in lower case.
      const id = [value, value.toLowerCase()].find((spelling) => names.has(spelling))
      return id === undefined ? value : toPseudonym(id)
    })
    return Buffer.from(text)
  }

  function toPseudonym(id: string): string {
    return isPseudonym(id) ? id : PSEUDONYM_PREFIX + hmac(pseudonymKey, id)
  }
}

const PSEUDONYM_PREFIX = 'deleted:'
const ROWS_PER_UPDATE = 500

export function isPseudonym(id: string): boolean {
  return id.startsWith(PSEUDONYM_PREFIX)
}

function listIds({ appUserId, originalAppUserId, ...event }: BillingEvent): string[] {
  const { aliases, transferredFrom, transferredTo, redeemedFrom, redeemedBy } = event
  const lists = [aliases, transferredFrom, transferredTo, redeemedFrom, redeemedBy]
  return [appUserId, originalAppUserId, ...lists.flat()].filter((id) => id !== null)
}
