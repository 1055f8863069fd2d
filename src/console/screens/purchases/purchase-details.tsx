import type { Stores } from '../../../features/stores/stores.ts'
import type { AccountSummary } from '../../../features/users/accounts/directory.ts'
import type { Json, ReplyOf } from '../../api.ts'
import { value, words } from '../../format.ts'
import { Badge, Card, CopyLine, Details, Empty, type Fact, Time, TimeAgo } from '../../ui/parts.tsx'
import { fieldWords } from './labels.ts'

export type FoundPurchase = ReplyOf<Stores['purchaseSearch']['find']>[number] & {
  owner: Json<AccountSummary> | null
  plan: string | null
  lastPayment: { amount: number; currency: string } | null
}
type State = FoundPurchase['state']

/** Labels of fields whose names do not explain them. */
const LABELS: Record<string, string> = {
  stated: 'Reported by the store',
  provided: 'Reported by the billing provider',
  isTemporary: 'Temporary',
  grant: 'Granted',
}
/** A time from here on means never. */
const FOREVER_MS = Date.UTC(10_000, 0)

/** The server's record of a purchase at Google Play. */
export function GooglePlayRecord({ atGoogle }: Pick<FoundPurchase, 'atGoogle'>) {
  if (atGoogle === null) {
    return (
      <Card title="Google Play record">
        <Empty>This server does not have the purchase token, so it cannot query Google.</Empty>
      </Card>
    )
  }
  const { tokenHash, packageName, askedAt, nextAskAt, unacknowledgedSince, goneAt } = atGoogle
  return (
    <Card title="Google Play record">
      {unacknowledgedSince !== null && (
        <p class="warn">
          Google refunds this purchase three days after it was made, unless it is acknowledged.
        </p>
      )}
      <Details
        items={[
          ['Package', packageName],
          ['Last refreshed', <TimeAgo key="asked" at={askedAt} />],
          ['Next refresh', nextAskAt ? <Time key="next" at={nextAskAt} /> : 'Not scheduled'],
          unacknowledgedSince !== null && [
            'Unacknowledged since',
            <WarningTime key="since" at={unacknowledgedSince} />,
          ],
          goneAt !== null && ['Deleted by Google on', <WarningTime key="gone" at={goneAt} />],
        ]}
      />
      <CopyLine name="SHA-256 of the purchase token" text={tokenHash} label="Copy hash" />
    </Card>
  )
}

function WarningTime({ at }: { at: string }) {
  return (
    <Badge tone="warn">
      <Time at={at} />
    </Badge>
  )
}

/** The fields of the stored state that have a value. */
export function stateFacts(state: State): Fact[] {
  return (
    Object.entries(state)
      // The history shows the amount that was paid.
      .filter(
        ([name, field]) =>
          name !== 'price' && field !== null && !(Array.isArray(field) && field.length === 0),
      )
      .map(([name, field]) => [LABELS[name] ?? words(name), fieldText(name, field)])
  )
}

function fieldText(name: string, field: unknown) {
  if (/At$/.test(name) && typeof field === 'number') return <StateTime at={field} />
  if (name === 'stated') {
    const { transactionId } = field as NonNullable<State['stated']>
    return transactionId === null ? 'yes' : `transaction ${transactionId}`
  }
  if (name === 'provided') {
    const { productId, expiresAt } = field as NonNullable<State['provided']>
    return (
      <>
        {productId ?? 'Unknown product'}, {expiresAt === null ? 'no end' : 'until '}
        {expiresAt !== null && <StateTime at={expiresAt} />}
      </>
    )
  }
  if (name === 'refundedOrders') {
    const orders = Object.entries(field as NonNullable<State['refundedOrders']>)
    return orders.map(([orderId, at]) => (
      <div key={orderId}>
        <span class="mono">{orderId}</span>, <StateTime at={at} />
      </div>
    ))
  }
  if (name === 'grant') {
    const { by, reason } = field as NonNullable<State['grant']>
    return `by ${by}: ${reason}`
  }
  return value(fieldWords(name, field))
}

function StateTime({ at }: { at: number }) {
  return at >= FOREVER_MS ? <>never</> : <Time at={new Date(at).toISOString()} />
}
