import type { Delivery } from '../../../../src/features/billing/inbox/event.ts'
import { parseReply } from '../../../../src/features/stores/google/api/answer.ts'
import { playEvent } from '../../../../src/features/stores/google/event.ts'
import { type KnownItem, readSnapshots } from '../../../../src/features/stores/google/snapshot.ts'
import { createClock } from '../../../support/app.ts'
import { ms } from '../../../support/billing.ts'
import { createPlayStore, type FakePurchase } from '../../../support/play-store/play-store.ts'
import type { PlayFlow, PlayScript } from './play-flows.ts'
import { type Report, reportFromProvider, transactionOf } from './sources.ts'

const clock = createClock()
const store = createPlayStore(clock)

/** Runs a flow on Google Play, where Google is queried after each step. Both sources report the same transactions. */
export function runPlayFlow({ steps, events }: PlayFlow): Record<'billing' | 'store', Report[]> {
  const script = { store } as PlayScript
  const known = new Map<string, KnownItem[]>()
  const reports = steps.flatMap(([day, step]) => {
    clock.now = new Date(ms(day))
    const before = store.voided.length
    const stated = step(script).flatMap(query)
    return [...stated, ...store.voided.slice(before).map(({ voided }) => refund(voided))]
  })
  const billing = events.map((fixture, at) => {
    const onGooglePlay = { ...fixture, store: 'PLAY_STORE', id: `E-${at}` }
    return reportFromProvider({ ...onGooglePlay, ...transactionOf(fixture, reports) })
  })
  return { billing, store: reports }

  function query(purchase: FakePurchase): Report[] {
    const { etag: _etag, ...reply } = { ...purchase.answer() } as Record<string, unknown>
    const { deliveries, items } = readSnapshots({
      kind: purchase.kind,
      reply,
      answer: parseReply(purchase.kind, reply),
      askedAt: clock.now.getTime(),
      orderedAt: clock.now.getTime(),
      packageName: store.packageName,
      tokenHash: purchase.token,
      known: known.get(purchase.token) ?? [],
      mainOwner: null,
      inheritedOwner: null,
    })
    known.set(purchase.token, items)
    return deliveries.map(reportFromGoogle)
  }

  function refund({ orderId, purchaseToken }: { orderId: string; purchaseToken: string }): Report {
    const [item] = known.get(purchaseToken) ?? []
    const document = {
      packageName: store.packageName,
      tokenHash: purchaseToken,
      line: item?.line ?? '',
      environment: 'PRODUCTION' as const,
      voided: { orderId, at: clock.now.getTime(), isPartial: false },
    }
    const bytes = Buffer.from(JSON.stringify(document))
    return reportFromGoogle({
      provider: 'play_store',
      event: playEvent(document),
      bytes,
      hash: orderId,
    })
  }
}

function reportFromGoogle(delivery: Delivery): Report {
  const { event } = delivery
  return { delivery, event: { ...event, orderedAt: event.at ?? 0 } }
}
