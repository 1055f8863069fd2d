import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { publicUrl } from '../../declared.ts'
import { money, words } from '../../format.ts'
import { formatSearch, linkTo, parts, readFilters } from '../../router.ts'
import { type FilterKind, ListFilters } from '../../ui/filters.tsx'
import { Badge, CopyLine, Day, Time, Title } from '../../ui/parts.tsx'
import { usePages } from '../../ui/remote.tsx'
import { type Column, PagedTable } from '../../ui/table.tsx'
import { Breakable } from '../../ui/user-link.tsx'
import { claimName, endName, productName } from './labels.ts'
import { StatusBadge } from './parts.tsx'
import { NoPurchase, ownerName, PurchaseScreen } from './purchase.tsx'
import type { FoundPurchase } from './purchase-details.tsx'

type Filter = Record<string, string>

const FILTERS: Record<string, [name: string, meaning: string]> = {
  '': ['All active', ''],
  unclaimed: ['Unclaimed', 'Active purchases that belong to no user.'],
  doubled: ['Duplicate', 'Active purchases of users who pay for the same product more than once.'],
  differing: [
    'Provider and store disagree',
    'Active purchases for which the billing provider and the store report different products or end dates.',
  ],
  unacknowledged: [
    'Unacknowledged',
    'Google Play purchases that are not acknowledged. Google refunds them three days after the purchase.',
  ],
  gone: [
    'Deleted by Google',
    'Purchases that Google Play no longer stores. Google deletes a purchase 60 days after it ends.',
  ],
}
const ID: FilterKind = {
  label: 'Receipt, e-mail or id',
  input: { type: 'search', autocomplete: 'off', spellcheck: false, maxLength: 300 },
}
const FILTER: FilterKind = {
  label: 'Show',
  options: Object.keys(FILTERS),
  describe: (value) => FILTERS[value]?.[0] ?? words(value),
}
const SEARCHED = 'search_results'
/** The filter's choices while a search replaces it. */
const NO_FILTER = { ...FILTER, options: [SEARCHED, ...Object.keys(FILTERS)], shown: SEARCHED }

/** The purchase search, or one purchase. */
export function Screen() {
  const [, id] = parts.value
  return id === undefined ? <PurchaseSearch /> : <PurchaseScreen id={id} />
}

function PurchaseSearch() {
  const { filter } = readFilters(['id', 'filter', 'sort'])
  return (
    <>
      <Title>Purchases</Title>
      <ListFilters
        path="purchases"
        kinds={{ id: ID, filter: filter['id'] === undefined ? FILTER : NO_FILTER }}
        isShort
        isExclusive
      />
      <Results key={`${filter['id']} ${filter['filter']}`} filter={filter} />
    </>
  )
}

const PAGE_SIZE = 25
const NEWEST = '-latest'

type PurchasesPage = { purchases: FoundPurchase[] }
type Row = FoundPurchase & { id: string }

function NoPurchases() {
  return (
    <>
      <p>
        No purchases yet. They appear with the first billing event, or once an app has submitted
        one. <a href={linkTo('stores')}>Connect a store</a>, or send the events of your billing
        provider to:
      </p>
      <CopyLine name="URL" text={publicUrl('/api/webhooks/billing/v1')} />
    </>
  )
}

function Results({ filter }: { filter: Filter }) {
  const { id, filter: chosen = '' } = filter
  const meaning = FILTERS[chosen]?.[1]
  const isSearch = id !== undefined
  const isSortable = !isSearch && chosen !== 'unacknowledged' && chosen !== 'gone'
  const path = `purchases${formatSearch({ ...(isSortable && { sort: NEWEST }), ...filter })}`
  const pages = usePages(path, toRows)
  const { first, rows, next } = pages
  return (
    <PagedTable
      caption="Purchases"
      pages={pages}
      noun="purchase"
      columns={columnsFor(isSortable)}
      order={NEWEST}
      empty={
        isSearch ? (
          <NoPurchase id={id} onAsked={first.reload} />
        ) : chosen === '' ? (
          <NoPurchases />
        ) : (
          'No purchases match.'
        )
      }
      above={() => !isSearch && meaning && <p class="soft">{meaning}</p>}
      below={() =>
        next !== null &&
        (rows.length === 0 || rows.length % PAGE_SIZE !== 0) && (
          <p class="soft">Not all purchases were searched. Load more to continue the search.</p>
        )
      }
    />
  )
}

/** A transaction id can exist in both environments. */
function toRows({ purchases }: PurchasesPage): Row[] {
  return purchases.map((one) => ({ ...one, id: `${one.environment} ${one.transactionId}` }))
}

/** The lists of purchases at Google have a fixed order. */
const columnsFor = (isSortable: boolean): Column<Row>[] => [
  { name: 'Owner', cell: (row) => <PurchaseOwner purchase={row} /> },
  {
    name: 'Status',
    onPhone: 'aside',
    cell: (row) => (
      <>
        <StatusBadge purchase={row} /> {row.environment === 'sandbox' && <Badge>sandbox</Badge>}
        <SinceAtGoogle purchase={row} />
      </>
    ),
  },
  {
    name: 'Product',
    onPhone: 'line',
    cell: (row) => (
      <span class="clip" title={productName(row)}>
        <Breakable text={productName(row)} />
      </span>
    ),
  },
  {
    name: 'Last payment',
    kind: 'number',
    field: 'lastPayment',
    format: (paid) => paid && money(paid),
    ...(isSortable && { sort: NEWEST }),
  },
  { name: 'Until', onPhone: 'line', cell: (row) => <End purchase={row} /> },
  {
    name: 'Transaction',
    onPhone: 'line',
    cell: ({ transactionId }) => <span class="mono clip">{transactionId}</span>,
    ...(isSortable && { sort: '-transaction' }),
  },
]

/** The link to the purchase. It shows the owner, which distinguishes purchases of the same product. */
function PurchaseOwner({ purchase }: { purchase: FoundPurchase }) {
  const claim = purchase.userId === null ? null : claimName(purchase)
  return (
    <>
      <a href={linkTo(`purchases/${encodeSegment(purchase.transactionId)}`)}>
        <Breakable
          text={ownerName(purchase) ?? (purchase.isOwnerDeleted ? 'Deleted user' : 'Anonymous')}
        />
      </a>
      <span class="soft">{claim && ` ${claim}`}</span>
    </>
  )
}

function End({ purchase }: { purchase: FoundPurchase }) {
  const { endsAt } = purchase
  if (endsAt === null) return <>Never ends</>
  return (
    <span class="clip">
      {endName(purchase)} <Day at={endsAt} />
    </span>
  )
}

function SinceAtGoogle({ purchase: { atGoogle } }: { purchase: FoundPurchase }) {
  const { unacknowledgedSince = null, goneAt = null } = atGoogle ?? {}
  if (unacknowledgedSince !== null) {
    return (
      <div class="soft">
        unacknowledged since <Time at={unacknowledgedSince} />
      </div>
    )
  }
  return goneAt === null ? null : (
    <div class="soft">
      deleted by Google on <Time at={goneAt} />
    </div>
  )
}
