import { encodeSegment } from '../../lib/path-segment.ts'
import { claimName, sourceName, statusName, toneOf } from '../purchase-words.ts'
import { filtersIn, go, linkTo, parts } from '../router.ts'
import { Field, SelectField } from '../ui/fields.tsx'
import { Badge, List, Time, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'
import { NoPurchase, Owner, PurchaseScreen } from './purchase.tsx'
import type { FoundPurchase } from './purchase-facts.tsx'

type Filter = Record<string, string>

/** The server lists at most this many. */
const MAX_LISTED = 100

const FILTERS: [value: string, name: string, meaning: string][] = [
  ['', 'All active', ''],
  ['unclaimed', 'Unclaimed', 'Active purchases that belong to no user.'],
  [
    'doubled',
    'Duplicate',
    'Active purchases of users who pay for the same product more than once.',
  ],
  [
    'differing',
    'Differing',
    'Active purchases for which the billing provider and the store report different products or ends.',
  ],
  [
    'unacknowledged',
    'Unacknowledged',
    'Google Play purchases that are not acknowledged. Google refunds them three days after the purchase.',
  ],
  [
    'gone',
    'Gone',
    'Google Play purchases that Google no longer knows. It forgets a purchase 60 days after its end.',
  ],
]

/** The purchase search, or one purchase. */
export function PurchasesScreen() {
  const [, id] = parts.value
  return id === undefined ? <PurchaseSearch /> : <PurchaseScreen id={id} />
}

function PurchaseSearch() {
  const { filter, search } = filtersIn(['id', 'filter'])
  return (
    <>
      <Title>Purchases</Title>
      <Filters filter={filter} />
      <Results key={search} filter={filter} search={search} />
    </>
  )
}

/** A search and a filter exclude each other. */
function Filters({ filter }: { filter: Filter }) {
  const id = filter['id'] ?? ''
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <Field label="Transaction, order or user" hint="As on the receipt; an e-mail; an app user id">
        <input
          key={id}
          defaultValue={id}
          autocomplete="off"
          spellcheck={false}
          maxLength={300}
          onChange={(event) => go(linkTo('purchases', { id: event.currentTarget.value.trim() }))}
        />
      </Field>
      <SelectField
        label="Show"
        value={id === '' ? (filter['filter'] ?? '') : 'search'}
        options={[
          ...(id === '' ? [] : [['search', 'Search results'] as [string, string]]),
          ...FILTERS.map(([value, name]): [string, string] => [value, name]),
        ]}
        onChange={(chosen) => go(linkTo('purchases', { filter: chosen }))}
      />
    </form>
  )
}

function Results({ filter, search }: { filter: Filter; search: string }) {
  const found = useRemote<FoundPurchase[]>(`purchases${search}`)
  const { id } = filter
  const meaning = FILTERS.find(([value]) => value === (filter['filter'] ?? ''))?.[2]
  return (
    <Loaded from={found}>
      {(purchases) => (
        <>
          {id === undefined && meaning && <p class="soft">{meaning}</p>}
          {id !== undefined && purchases.length === 0 ? (
            <NoPurchase id={id} onAsked={found.reload} />
          ) : (
            <List items={purchases} empty="No purchases match.">
              {(purchase) => <PurchaseRow key={rowKey(purchase)} purchase={purchase} />}
            </List>
          )}
          {purchases.length === MAX_LISTED && (
            <p class="soft">Only the first {MAX_LISTED} are shown.</p>
          )}
        </>
      )}
    </Loaded>
  )
}

function PurchaseRow({ purchase }: { purchase: FoundPurchase }) {
  const { transactionId, productId, environment, active, status, endsAt, userId } = purchase
  return (
    <li>
      <a href={linkTo(`purchases/${encodeSegment(transactionId)}`)}>
        {productId ?? 'Unknown product'}
      </a>
      <Badge tone={toneOf(purchase)}>{statusName(status)}</Badge>
      <Badge>{environment}</Badge>
      <span class="soft">
        {endsAt === null ? (
          'no end'
        ) : (
          <>
            {active ? 'until' : 'ended'} <Time at={endsAt} />
          </>
        )}
      </span>
      <span class="soft mono">{transactionId}</span>
      <span class="wide soft">
        {sourceName(purchase)}; <Owner purchase={purchase} />
        {userId !== null && <>, {claimName(purchase)}</>}
        <SinceAtGoogle purchase={purchase} />
      </span>
    </li>
  )
}

function SinceAtGoogle({ purchase: { atGoogle } }: { purchase: FoundPurchase }) {
  const { unacknowledgedSince = null, goneAt = null } = atGoogle ?? {}
  if (unacknowledgedSince !== null) {
    return (
      <>
        ; unacknowledged since <Time at={unacknowledgedSince} />
      </>
    )
  }
  return goneAt === null ? null : (
    <>
      ; forgotten by Google since <Time at={goneAt} />
    </>
  )
}

function rowKey({ environment, transactionId }: FoundPurchase): string {
  return `${environment} ${transactionId}`
}
