import { useState } from 'preact/hooks'
import { read } from '../api.ts'
import { Publishing } from '../editing/publishing.tsx'
import { Records } from '../editing/records.tsx'
import type { Me } from '../types.ts'
import { Act, Card, Field } from '../ui/parts.tsx'

type Plans = Record<string, unknown>[]

/** The pricing plans on sale. */
export function PlansScreen({ me }: { me: Me }) {
  return (
    <Publishing<Plans> kind="plans" title="Plans" me={me}>
      {({ draft, setDraft, schema }) => (
        <>
          <Records
            records={draft}
            onChange={setDraft}
            schema={schema}
            noun="plan"
            removal="Archive"
            hidden={['_id']}
            nameOf={({ code }) => String(code ?? '')}
            isReadOnly={me.role === 'reader'}
          />
          <PlansPreview />
        </>
      )}
    </Publishing>
  )
}

type Shown = {
  language: string
  plans: { code: string; name: string; price: number; currency: string }[]
}

function PlansPreview() {
  const [language, setLanguage] = useState('en')
  const [shown, setShown] = useState<Shown | null>(null)
  const show = async () =>
    setShown(await read<Shown>(`preview/plans?lang=${encodeURIComponent(language)}`))
  return (
    <Card title="As an app gets what is published">
      <div class="filters">
        <Field label="Language">
          <input value={language} onInput={(event) => setLanguage(event.currentTarget.value)} />
        </Field>
        <Act act={show}>Show</Act>
      </div>
      {shown && (
        <div role="status">
          <p class="soft">In {shown.language}</p>
          <ul class="list">
            {shown.plans.map(({ code, name, price, currency }) => (
              <li key={code}>
                <span>{name}</span>
                <span>
                  {price} {currency.toUpperCase()}
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Card>
  )
}
