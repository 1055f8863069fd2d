import type { UnmatchedProduct } from '../../../features/billing/access/offers.ts'
import { inEnglish, plural } from '../../format.ts'
import { Badge, Card, List } from '../../ui/parts.tsx'
import { useRemote } from '../../ui/remote.tsx'

type Plan = Record<string, unknown>
type Props = { plans: Plan[]; onChange: (plans: Plan[]) => void }

/** Paid products that no plan includes, not even in the draft, with a button for each plan to add them to. */
export function UnmatchedProducts({ plans, onChange }: Props) {
  const { data } = useRemote<{ products: UnmatchedProduct[] }>('billing/unmatched')
  const included = new Set(plans.flatMap(listProducts))
  const products = Map.groupBy(
    (data?.products ?? []).filter(
      ({ productId }) => productId !== null && !included.has(productId),
    ),
    ({ productId }) => productId as string,
  )
  if (products.size === 0) return null
  const add = (productId: string, at: number) => {
    const plan = plans[at] as Plan
    onChange(plans.with(at, { ...plan, otherProductIds: [...listOthers(plan), productId] }))
  }
  return (
    <Card title="Paid products without a plan">
      <List items={[...products]}>
        {([productId, offers]) => (
          <li key={productId}>
            <code>{productId}</code>
            <span class="soft">
              {plural(
                offers.reduce((sum, { lines }) => sum + lines, 0),
                'active purchase',
              )}
            </span>
            {offers.some(({ unlocks }) => !unlocks) && <Badge tone="bad">unlocks nothing</Badge>}
            <span class="actions">
              {plans.map(
                ({ code, name }, at) =>
                  code !== 'free' && (
                    <button key={String(code)} type="button" onClick={() => add(productId, at)}>
                      Add to {inEnglish(name) || String(code)}
                    </button>
                  ),
              )}
            </span>
          </li>
        )}
      </List>
    </Card>
  )
}

function listProducts(plan: Plan): unknown[] {
  return [plan['paymentProductId'], ...listOthers(plan)]
}

function listOthers({ otherProductIds }: Plan): unknown[] {
  return Array.isArray(otherProductIds) ? otherProductIds : []
}
