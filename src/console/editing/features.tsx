import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import type { Features } from '../types.ts'
import { Act, Card, Field } from '../ui/parts.tsx'
import { numberIn } from './form.tsx'

type Feature = Features[string]
type Rule = Feature['rules'][number]
type Value = Feature['value']
type FeaturesProps = { features: Features; onChange: (features: Features) => void }

/** Settings of the app’s own, and who gets another value of them. */
export function FeaturesEditor({ features, onChange }: FeaturesProps) {
  const [name, setName] = useState('')
  const [type, setType] = useState('boolean')
  const add = () => {
    const value: Value = type === 'boolean' ? false : type === 'number' ? 0 : ''
    onChange({ ...features, [name.trim()]: { value, rules: [] } })
    setName('')
  }
  return (
    <fieldset>
      <legend>Settings of your app’s own</legend>
      {Object.entries(features).map(([key, feature]) => (
        <FeatureEditor
          key={key}
          name={key}
          feature={feature}
          onChange={(next) => onChange({ ...features, [key]: next })}
          onRemove={() => {
            const { [key]: _removed, ...others } = features
            onChange(others)
          }}
        />
      ))}
      <div class="filters">
        <Field label="Name" hint="Such as newPaywall">
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </Field>
        <Field label="Type">
          <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
            <option value="boolean">yes or no</option>
            <option value="number">number</option>
            <option value="string">text</option>
          </select>
        </Field>
        <button type="button" disabled={name.trim() === ''} onClick={add}>
          Add a setting
        </button>
      </div>
    </fieldset>
  )
}

type FeatureProps = {
  name: string
  feature: Feature
  onChange: (feature: Feature) => void
  onRemove: () => void
}

function FeatureEditor({ name, feature, onChange, onRemove }: FeatureProps) {
  const { value, rules } = feature
  const setRule = (at: number, rule: Rule) => onChange({ ...feature, rules: rules.with(at, rule) })
  return (
    <Card title={name}>
      <ValueField
        label="Everybody else gets"
        value={value}
        onChange={(next) => onChange({ ...feature, value: next })}
      />
      {rules.map((rule, at) => (
        <fieldset key={at}>
          <legend>Rule {at + 1}: for those who are</legend>
          <Conditions when={rule.when} onChange={(when) => setRule(at, { ...rule, when })} />
          <ValueField
            label="they get"
            value={rule.value}
            onChange={(next) => setRule(at, { ...rule, value: next })}
          />
          <div class="actions">
            <button
              type="button"
              class="quiet"
              onClick={() => onChange({ ...feature, rules: rules.filter((_, one) => one !== at) })}
            >
              Remove rule {at + 1} of {name}
            </button>
          </div>
        </fieldset>
      ))}
      <div class="actions">
        <button
          type="button"
          onClick={() =>
            onChange({ ...feature, rules: [...rules, { when: {}, value: otherThan(value) }] })
          }
        >
          Add a rule to {name}
        </button>
        <button type="button" class="danger" onClick={onRemove}>
          Remove {name}
        </button>
      </div>
    </Card>
  )
}

function Conditions({
  when,
  onChange,
}: {
  when: Rule['when']
  onChange: (when: Rule['when']) => void
}) {
  const set = (name: keyof Rule['when'], value: unknown) => {
    const { [name]: _old, ...others } = when
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  const text = (name: 'minVersion' | 'maxVersion', label: string) => (
    <Field label={label}>
      <input
        value={when[name] ?? ''}
        placeholder="any"
        onInput={(event) => set(name, event.currentTarget.value || undefined)}
      />
    </Field>
  )
  const list = (name: 'languages' | 'countries', label: string, example: string) => (
    <Field label={label}>
      <input
        defaultValue={when[name]?.join(', ') ?? ''}
        placeholder={example}
        onInput={(event) => {
          const items = event.currentTarget.value.split(',').map((item) => item.trim())
          const given = items.filter(Boolean)
          set(name, given.length > 0 ? given : undefined)
        }}
      />
    </Field>
  )
  return (
    <div class="grid">
      <Field label="on">
        <select
          value={when.platform ?? ''}
          onChange={(event) => set('platform', event.currentTarget.value || undefined)}
        >
          <option value="">any platform</option>
          <option value="ios">iOS</option>
          <option value="android">Android</option>
          <option value="web">the web</option>
        </select>
      </Field>
      {text('minVersion', 'version, from')}
      {text('maxVersion', 'version, up to and with')}
      {list('languages', 'language, one of', 'pt, en-GB')}
      {list('countries', 'country, one of', 'BR, PT')}
      <Field label="percent of people">
        <input
          type="number"
          min={0}
          max={100}
          value={when.percent ?? ''}
          placeholder="everybody"
          onInput={(event) => {
            const { valueAsNumber } = event.currentTarget
            set('percent', Number.isNaN(valueAsNumber) ? undefined : valueAsNumber)
          }}
        />
      </Field>
    </div>
  )
}

function ValueField({
  label,
  value,
  onChange,
}: {
  label: string
  value: Value
  onChange: (value: Value) => void
}) {
  if (typeof value === 'boolean') {
    return (
      <label class="field row">
        <input
          type="checkbox"
          checked={value}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
    )
  }
  return (
    <Field label={label}>
      <input
        inputMode={typeof value === 'number' ? 'decimal' : 'text'}
        value={String(value)}
        onChange={(event) => {
          const { value: text } = event.currentTarget
          onChange(typeof value === 'number' ? (numberIn(text) as Value) : text)
        }}
      />
    </Field>
  )
}

/** What a rule is made for: the other one of yes and no. */
function otherThan(value: Value): Value {
  return typeof value === 'boolean' ? !value : value
}

/** What somebody would get of these settings, before they are published. */
export function Preview({ features }: { features: Features }) {
  const [as, setAs] = useState({
    platform: 'ios',
    version: '1.0.0',
    language: 'en',
    country: '',
    id: 'a-phone',
  })
  const [values, setValues] = useState<Record<string, unknown> | null>(null)
  const field = (name: keyof typeof as, label: string) => (
    <Field label={label}>
      <input value={as[name]} onInput={(event) => set(name, event.currentTarget.value)} />
    </Field>
  )
  const set = (name: keyof typeof as, value: string) => {
    setAs({ ...as, [name]: value })
    // It was of somebody else.
    setValues(null)
  }
  const show = async () => {
    const { language, ...rest } = as
    const audience = {
      platform: rest.platform || null,
      version: rest.version || null,
      country: rest.country || null,
      id: rest.id || null,
      languages: language ? [language] : [],
    }
    setValues(await send('preview/settings', { features, as: audience }))
  }
  return (
    <Card title="Preview: what somebody gets">
      <p class="soft">Of what is edited here, published or not.</p>
      <div class="grid">
        <Field label="Platform">
          <select
            value={as.platform}
            onChange={(event) => set('platform', event.currentTarget.value)}
          >
            <option value="ios">iOS</option>
            <option value="android">Android</option>
            <option value="web">the web</option>
          </select>
        </Field>
        {field('version', 'App version')}
        {field('language', 'Language')}
        {field('country', 'Country')}
        {field('id', 'Id of the person or device')}
      </div>
      <div class="actions">
        <Act act={show}>Show</Act>
      </div>
      {values && <pre role="status">{JSON.stringify(values, null, 2)}</pre>}
    </Card>
  )
}
