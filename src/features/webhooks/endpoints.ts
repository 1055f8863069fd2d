import { asc, eq, inArray } from 'drizzle-orm'
import { seal } from '../../lib/crypto/seal.ts'
import { AppError, invalidField, notFound } from '../../lib/errors.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { repeatInBatches } from '../../platform/db/batched-changes.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import type { Queue } from '../../platform/queue/queue.ts'
import { ALL_EVENTS, EVENT_TYPES } from './events.ts'
import type { WebhooksDb } from './schema.ts'
import { newSecret } from './sending/signature.ts'
import { TargetRefusal, type Targets, UnknownHost } from './sending/target.ts'

type EndpointsDeps = {
  db: WebhooksDb
  targets: Targets
  sealKey: Uint8Array
  now: () => Date
  newId: () => string
  queue: Pick<Queue, 'wakeAfter' | 'retryNow'>
}

type NewEndpoint = { url: string; events: string[]; description?: string | undefined }

type EndpointChange = { [Name in keyof NewEndpoint]?: NewEndpoint[Name] | undefined }

type Row = WebhooksDb['tables']['webhookEndpoints']['$inferSelect']

/** Without its secrets; times are ISO 8601. */
export type Endpoint = ReturnType<typeof toEndpoint>

/** With eight requests to each, all endpoints together stay below Bun's limit of 256 requests. */
const MAX_ENDPOINTS = 20
/** How long the previous secret still signs after a rotation. */
const ROTATION_MS = DAY_MS
/** Repeated rotations must not make the header of signatures too long. */
const MAX_FORMER_SECRETS = 3
const MAX_DESCRIPTION_LENGTH = 200
/** A small number, so that removing a long history does not block other changes. */
const REMOVED_PER_CHANGE = 500

export function createEndpoints(deps: EndpointsDeps) {
  const { db, targets, sealKey, now, newId, queue } = deps
  const { webhookEndpoints, webhookDeliveries } = db.tables
  return { add, list, find, findOrThrow, change, disable, enable, rotate, remove }

  /** The secret is returned only here. Throws `validation_failed` or `conflict`. */
  async function add({ url, events, description = '' }: NewEndpoint) {
    const secret = newSecret()
    const row: Row = {
      id: newId(),
      url: await checkUrl(url),
      description: checkDescription(description),
      events: checkEvents(events),
      secret: seal(sealKey, secret),
      formerSecret: null,
      formerSecretUntil: null,
      createdAt: now(),
      failingSince: null,
      failedAt: null,
      disabledAt: null,
      disabledReason: null,
    }
    await db.write(async (tx) => {
      if ((await tx.$count(webhookEndpoints)) >= MAX_ENDPOINTS) {
        throw new AppError(
          'conflict',
          `There are already ${MAX_ENDPOINTS} webhook endpoints. Remove one first.`,
        )
      }
      await tx.insert(webhookEndpoints).values(row)
    })
    return { endpoint: toEndpoint(row), secret }
  }

  async function list(): Promise<Endpoint[]> {
    const rows = await db.read.select().from(webhookEndpoints).orderBy(asc(webhookEndpoints.id))
    return rows.map(toEndpoint)
  }

  async function find(id: string): Promise<Endpoint> {
    return toEndpoint(await findOrThrow(db.read, id))
  }

  async function findOrThrow(from: Reader, id: string): Promise<Row> {
    const [row] = await from.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id))
    if (row === undefined) throw notFound()
    return row
  }

  /** Stops new events; waiting deliveries are kept. Acknowledges a failing endpoint, which ends its alert. */
  async function disable(id: string): Promise<Endpoint> {
    return update(id, ({ disabledAt }) => ({
      disabledAt: disabledAt ?? now(),
      disabledReason: 'operator',
    }))
  }

  async function enable(id: string): Promise<Endpoint> {
    return update(id, (_endpoint, tx) => {
      queue.wakeAfter(tx, [id])
      return { disabledAt: null, disabledReason: null, failingSince: null, failedAt: null }
    })
  }

  /** Changes the given fields. Waiting deliveries are sent to a new URL immediately. Throws `validation_failed`. */
  async function change(id: string, { url, events, description }: EndpointChange) {
    const target = url === undefined ? null : await checkUrl(url)
    const changes = {
      ...(events === undefined ? {} : { events: checkEvents(events) }),
      ...(description === undefined ? {} : { description: checkDescription(description) }),
    }
    return db.write(async (tx) => {
      const before = await findOrThrow(tx, id)
      const moved = { url: target ?? before.url, failingSince: null, failedAt: null }
      const after = { ...before, ...changes, ...(moved.url === before.url ? {} : moved) }
      await tx.update(webhookEndpoints).set(after).where(eq(webhookEndpoints.id, id))
      if (after.url !== before.url) {
        await queue.retryNow(tx, eq(webhookDeliveries.endpointId, id))
        queue.wakeAfter(tx, [id])
      }
      return { before: toEndpoint(before), endpoint: toEndpoint(after) }
    })
  }

  /** Previous secrets sign for a day, so that the receiver can be changed without a gap. */
  async function rotate(id: string) {
    const secret = newSecret()
    const sealed = seal(sealKey, secret)
    const endpoint = await update(id, (before) => ({
      secret: sealed,
      formerSecret: [before.secret, ...listFormerSecrets(before, now())]
        .slice(0, MAX_FORMER_SECRETS)
        .join(' '),
      formerSecretUntil: new Date(now().getTime() + ROTATION_MS),
    }))
    return { endpoint, secret }
  }

  /** Also removes its deliveries. */
  async function remove(id: string): Promise<Endpoint> {
    const endpoint = await disable(id)
    const ofEndpoint = eq(webhookDeliveries.endpointId, id)
    await repeatInBatches(db, REMOVED_PER_CHANGE, (tx) => removeDeliveries(tx, ofEndpoint))
    await db.write((tx) => tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id)))
    return endpoint
  }

  async function removeDeliveries(tx: Tx, ofEndpoint: ReturnType<typeof eq>): Promise<number> {
    const rows = await tx
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(ofEndpoint)
      .limit(REMOVED_PER_CHANGE)
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) await tx.delete(webhookDeliveries).where(inArray(webhookDeliveries.id, ids))
    return rows.length
  }

  async function update(id: string, changesFor: (endpoint: Row, tx: Tx) => Partial<Row>) {
    return db.write(async (tx) => {
      const endpoint = await findOrThrow(tx, id)
      const changes = changesFor(endpoint, tx)
      if (Object.keys(changes).length > 0)
        await tx.update(webhookEndpoints).set(changes).where(eq(webhookEndpoints.id, id))
      return toEndpoint({ ...endpoint, ...changes })
    })
  }

  /** Returns the normalized URL. Accepts a host name that cannot be resolved yet: it may be added later. */
  async function checkUrl(text: string): Promise<string> {
    try {
      const { href } = targets.parse(text)
      await targets.locate(href)
      return href
    } catch (error) {
      if (error instanceof UnknownHost) return targets.parse(text).href
      if (error instanceof TargetRefusal) throw invalid('url', error.message)
      throw error
    }
  }
}

function checkDescription(text: string): string {
  if ([...text].length <= MAX_DESCRIPTION_LENGTH && !/\p{C}/u.test(text)) return text
  throw invalid('description', `must be one line of at most ${MAX_DESCRIPTION_LENGTH} characters`)
}

function checkEvents(events: string[]): string[] {
  const unknown = events.find((name) => ![ALL_EVENTS, ...EVENT_TYPES].includes(name))
  if (events.length === 0 || unknown !== undefined)
    throw invalid('events', `must be ${ALL_EVENTS}, or some of ${EVENT_TYPES.join(', ')}`)
  return events.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(events)]
}

function invalid(path: string, message: string): AppError {
  return invalidField(path, message, 'The webhook endpoint is invalid.')
}

function toEndpoint(row: WebhooksDb['tables']['webhookEndpoints']['$inferSelect']) {
  const { id, url, description, events, disabledReason } = row
  return {
    id,
    url,
    description,
    events,
    createdAt: row.createdAt.toISOString(),
    failingSince: row.failingSince?.toISOString() ?? null,
    disabledAt: row.disabledAt?.toISOString() ?? null,
    /** Why it is disabled: `operator`, `gone` or `failing`. */
    disabledReason,
    /** Until then a previous secret also signs. */
    rotatingUntil: row.formerSecretUntil?.toISOString() ?? null,
  }
}

/** The sealed previous secrets that also sign at the given time, latest first. */
export function listFormerSecrets(
  { formerSecret, formerSecretUntil }: Pick<Row, 'formerSecret' | 'formerSecretUntil'>,
  at: Date,
): string[] {
  const areValid = formerSecretUntil !== null && at < formerSecretUntil
  return areValid && formerSecret !== null ? formerSecret.split(' ') : []
}

/** For the audit log. */
export function auditedEndpoint({ url, events, description }: NewEndpoint) {
  return { url: withoutQuery(url), events, description }
}

/** For the console, which every operator can read. */
export function hideQuery<T extends { url: string }>(endpoint: T): T {
  return { ...endpoint, url: withoutQuery(endpoint.url) }
}

/** The URL without its query, which is often a secret. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…')
}
