import { and, eq } from 'drizzle-orm'
import { AppError, accountDeleted } from '../../../../lib/errors.ts'
import type { Json } from '../../../../lib/text/json.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { Tx } from '../../../../platform/db/db.ts'
import { prepareUpsert } from '../../../../platform/db/prepared.ts'
import type { Environment, StoredEnvironment } from '../../../billing/environment.ts'
import { text } from '../../json.ts'
import type { Params } from '../api/api.ts'
import { ignoreUnknown, StripeApiError } from '../api/api-error.ts'
import type { StripeContext } from '../context.ts'
import { time } from '../events/state.ts'

export type CheckoutRequest = {
  plan: string
  successUrl: string
  cancelUrl: string
  quantity?: number
  environment?: Environment
  allowSecond?: boolean
}

type Buyer = { userId: string; environment: StoredEnvironment }

/** After this, a repeated attempt could not be open for the 30 minutes that Stripe requires. */
const REPEATABLE_MS = 25 * MINUTE_MS
const REFUSED = ['unknown', 'rejected']
const OVER = ['canceled', 'incomplete_expired']

/** Each user has one open session per environment. */
export function createSessions({ db, api, objects, existingUsers, now, newId }: StripeContext) {
  const { stripeCheckouts } = db.tables
  const upsert = prepareUpsert(db, stripeCheckouts)
  return { findOpen, create }

  /** The page of the same request, if it is still open. Closes another request's page. Throws 409 if it was paid. */
  async function findOpen(
    buyer: Buyer,
    request: CheckoutRequest,
    former: Json[],
    trialDays: number,
  ) {
    const { environment } = buyer
    const [known] = await db.read.select().from(stripeCheckouts).where(isOf(buyer))
    if (!known) return { session: null, seen: null }
    const seen = toSeen(known)
    // The user may have had a trial elsewhere since.
    const isSame =
      known.request === toText(request) && readTrialDays(known.params as Params) === trialDays
    if (known.sessionId === null)
      return { session: isSame && isRepeatable(known) ? await call(buyer, known) : null, seen }
    const path = `checkout/sessions/${known.sessionId}`
    // The session may have been deleted at Stripe, as sandbox data can be.
    const session = await api.call(environment, path).catch(ignoreUnknown)
    if (session['status'] === 'open' && isSame)
      return { session: toReply(session, known.params as Params), seen }
    const closed =
      session['status'] === 'open'
        ? await api
            .call(environment, `${path}/expire`, { method: 'POST' })
            .catch(() => api.call(environment, path))
        : session
    if (closed['status'] === 'complete' && (await isUnderWay(closed)))
      throw await markComplete(environment, closed)
    return { session: null, seen }

    /** Whether a subscription that was just bought is not listed yet, or its bank debit is on its way. */
    async function isUnderWay({ subscription }: Json): Promise<boolean> {
      const bought = former.find(({ id }) => id === subscription)
      if (bought !== undefined) return bought['status'] === 'incomplete'
      // Bought since the list was read, unless its customer was deleted at Stripe.
      const { status } = await api.call(environment, `subscriptions/${subscription}`)
      return !OVER.includes(String(status))
    }
  }

  function isRepeatable({ createdAt }: { createdAt: Date }): boolean {
    return createdAt.getTime() + REPEATABLE_MS > now().getTime()
  }

  async function markComplete(environment: StoredEnvironment, session: Json) {
    const id = text(session['subscription'])
    if (id !== null) await db.write((tx) => objects.enqueue(tx, environment, { id }))
    return alreadySubscribed()
  }

  /** Stores the attempt before the call: a repetition, even after a crash, gets the same session. */
  async function create(
    buyer: Buyer,
    request: CheckoutRequest,
    params: Params,
    /** The attempt that `findOpen` saw: another tab may have been faster, or may have got its page since. */
    seen: string | null,
  ) {
    const row = await db.write(async (tx) => {
      const [user] = await existingUsers(tx, [buyer.userId])
      if (user === undefined) throw accountDeleted(buyer.userId)
      const [known] = await tx.select().from(stripeCheckouts).where(isOf(buyer))
      if (known === undefined || toSeen(known) === seen) return store(tx, buyer, request, params)
      if (known.request !== toText(request)) throw overtaken()
      return known
    })
    return call(buyer, row)
  }

  async function store(tx: Tx, buyer: Buyer, request: CheckoutRequest, params: Params) {
    const row = {
      ...buyer,
      attempt: newId(),
      request: toText(request),
      params,
      createdAt: now(),
      sessionId: null,
    }
    await upsert(tx, row)
    return row
  }

  async function call(
    buyer: Buyer,
    { attempt, params }: { attempt: string; params: Record<string, unknown> },
  ) {
    const isThis = and(isOf(buyer), eq(stripeCheckouts.attempt, attempt))
    const session = await api
      .call(buyer.environment, 'checkout/sessions', {
        method: 'POST',
        params: params as Params,
        idempotencyKey: attempt,
      })
      .catch(async (error) => {
        // Stripe would give a repetition the same response.
        const isFinal = error instanceof StripeApiError && REFUSED.includes(error.reason)
        if (isFinal)
          await db.write(async (tx) => void (await tx.delete(stripeCheckouts).where(isThis)))
        throw error
      })
    const sessionId = text(session['id'])
    const isCurrent = await db.write(async (tx) => {
      const query = tx.update(stripeCheckouts).set({ sessionId }).where(isThis)
      return (await query.returning({ attempt: stripeCheckouts.attempt })).length > 0
    })
    if (!isCurrent) {
      await api.call(buyer.environment, `checkout/sessions/${sessionId}/expire`, { method: 'POST' })
      throw overtaken()
    }
    return toReply(session, params as Params)
  }

  function isOf({ userId, environment }: Buyer) {
    return and(eq(stripeCheckouts.userId, userId), eq(stripeCheckouts.environment, environment))
  }
}

/** Throws `StripeApiError` for a session without an address. */
function toReply(session: Json, params: Params) {
  const [url, sessionId] = [text(session['url'], 5_000), text(session['id'])]
  const expiresAt = time(session['expires_at'])
  if (url === null || sessionId === null || expiresAt === null)
    throw new StripeApiError('unreadable')
  return {
    url,
    sessionId,
    expiresAt: new Date(expiresAt).toISOString(),
    trialDays: readTrialDays(params),
  }
}

function readTrialDays(params: Params): number {
  const { trial_period_days: trialDays = 0 } = params['subscription_data'] as Params
  return Number(trialDays)
}

function toSeen({ attempt, sessionId }: { attempt: string; sessionId: string | null }): string {
  return `${attempt} ${sessionId}`
}

function toText({ plan, successUrl, cancelUrl, quantity = 1 }: CheckoutRequest): string {
  return JSON.stringify([plan, successUrl, cancelUrl, quantity])
}

function overtaken() {
  return new AppError('conflict', 'Another checkout of this user has just started.')
}

export function alreadySubscribed() {
  return new AppError(
    'already_subscribed',
    'The user has a subscription already. Open the customer portal.',
  )
}
