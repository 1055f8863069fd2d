import { useState } from 'preact/hooks'
import { isExample } from '../../../lib/example-content.ts'
import { read } from '../../api.ts'
import type { FieldGroups } from '../../editing/form.tsx'
import { Publishing } from '../../editing/publishing.tsx'
import { Records } from '../../editing/records.tsx'
import { inEnglish, money } from '../../format.ts'
import { TextField } from '../../ui/fields.tsx'
import { Action, Card, List } from '../../ui/parts.tsx'
import { CustomLimits } from './custom-limits.tsx'
import { UnmatchedProducts } from './unmatched-products.tsx'

type Plans = Record<string, unknown>[]
type PreviewReply = {
  language: string
  plans: { code: string; name: string; price: number; currency: string }[]
}

const GROUPS: FieldGroups = [
  [
    'What the customer sees',
    /^(name|description|badge|highlighted|features|price|currency|duration|trialDays)$/,
    true,
  ],
  ['What it unlocks', /^(capabilities|entitlementIds)$/],
  ['Where it is sold', /^(source|paymentProductId|paymentPriceId|otherProductIds|isEnterprise)$/],
  ['Limits', /limit/i, false],
]

/** The code of a published plan never changes: purchases and rules refer to it. */
function listHidden(plan: Record<string, unknown>): string[] {
  return ['_id', 'limits', 'limitPeriods', ...(plan['_id'] ? ['code'] : [])]
}

type Plan = Plans[number]

function readCode({ code }: Plan): string {
  return String(code ?? '')
}

/** `$9.99`; an incomplete price stays as typed. */
function formatPrice({ price, currency }: Plan): string {
  const code = String(currency ?? '')
  const isComplete = typeof price === 'number' && /^[a-z]{3}$/i.test(code)
  return isComplete ? money({ amount: price, currency: code }) : `${price ?? ''} ${code}`.trim()
}

/** For readers: the price with its currency. */
function withPrice({ currency, ...plan }: Plan): Plan {
  return { ...plan, price: formatPrice({ price: plan['price'], currency }) }
}

export function Screen() {
  return (
    <Publishing<Plans>
      kind="plans"
      title="Plans"
      nameOf={(plan) => `${inEnglish(plan['name'])} (${readCode(plan)})`}
      readable={(plans) => plans.map(withPrice)}
      preview={() => <Preview />}
    >
      {({ draft, setDraft, schema }) => (
        <>
          <UnmatchedProducts plans={draft} onChange={setDraft} />
          <Records
            records={draft}
            onChange={setDraft}
            schema={schema}
            path="plans"
            noun="plan"
            removeVerb="Archive"
            hidden={listHidden}
            groups={GROUPS}
            more={(plan, path, onChange) => (
              <CustomLimits plan={plan} path={path} onChange={onChange} />
            )}
            nameOf={(plan) => inEnglish(plan['name']) || readCode(plan)}
            codeOf={readCode}
            summaryOf={(plan) => formatPrice(plan) + (isExample(plan) ? ', example' : '')}
          />
        </>
      )}
    </Publishing>
  )
}

/** Shows the published plans in a language. */
function Preview() {
  const [language, setLanguage] = useState('en')
  const [reply, setReply] = useState<PreviewReply | null>(null)
  const show = async () =>
    setReply(await read<PreviewReply>(`preview/plans?lang=${encodeURIComponent(language)}`))
  return (
    <Card title="App preview">
      <p class="soft">What apps get from the published plans, without your unsaved changes.</p>
      <div class="fields">
        <TextField label="Language" value={language} onChange={setLanguage} />
        <Action run={show}>Show</Action>
      </div>
      {reply && (
        <div role="status">
          <p class="soft">Language: {reply.language}</p>
          <List items={reply.plans}>
            {({ code, name, price, currency }) => (
              <li key={code}>
                <span>{name}</span>
                <span>{formatPrice({ price, currency })}</span>
              </li>
            )}
          </List>
        </div>
      )}
    </Card>
  )
}
