import { useState } from 'preact/hooks'
import type { StoredSettings } from '../../features/settings/model.ts'
import { send } from '../api.ts'
import { Checkbox, Field, SelectField, TextField } from '../ui/fields.tsx'
import { Action, Card } from '../ui/parts.tsx'
import { parseNumber } from './form.tsx'

type Features = StoredSettings['features']
type Feature = Features[string]
type Rule = Feature['rules'][number]
type When = Rule['when']
type Value = Feature['value']
type FeaturesProps = { features: Features; onChange: (features: Features) => void }

const TYPES: [type: string, name: string][] = [
  ['boolean', 'Yes or no'],
  ['number', 'Number'],
  ['string', 'Text'],
]
const PLATFORMS: [platform: string, name: string][] = [
  ['ios', 'iOS'],
  ['android', 'Android'],
  ['web', 'Web'],
]

/** Edits the custom settings and their rules. */
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
      <legend>Custom settings</legend>
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
      <div class="fields">
        <TextField label="Name" hint="For example newPaywall" value={name} onChange={setName} />
        <SelectField label="Type" value={type} options={TYPES} onChange={setType} />
        <button type="button" disabled={name.trim() === ''} onClick={add}>
          Add setting
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
  const path = `settings.features.${name}`
  const { value, rules } = feature
  const setRules = (next: Rule[]) => onChange({ ...feature, rules: next })
  const setRule = (at: number, rule: Rule) => setRules(rules.with(at, rule))
  return (
    <Card title={name}>
      <ValueField
        label="Default value"
        path={`${path}.value`}
        value={value}
        onChange={(next) => onChange({ ...feature, value: next })}
      />
      {rules.map((rule, at) => (
        <fieldset key={at}>
          <legend>Rule {at + 1}: when</legend>
          <Conditions
            when={rule.when}
            path={`${path}.rules.${at}.when`}
            onChange={(when) => setRule(at, { ...rule, when })}
          />
          <ValueField
            label="Value"
            path={`${path}.rules.${at}.value`}
            value={rule.value}
            onChange={(next) => setRule(at, { ...rule, value: next })}
          />
          <div class="actions">
            <button
              type="button"
              class="quiet"
              aria-label={`Remove rule ${at + 1} of ${name}`}
              onClick={() => setRules(rules.toSpliced(at, 1))}
            >
              Remove rule
            </button>
          </div>
        </fieldset>
      ))}
      <div class="actions">
        <button
          type="button"
          aria-label={`Add rule to ${name}`}
          onClick={() => setRules([...rules, { when: {}, value: initialRuleValue(value) }])}
        >
          Add rule
        </button>
        <button type="button" class="danger" onClick={onRemove}>
          Remove {name}
        </button>
      </div>
    </Card>
  )
}

type ConditionsProps = { when: When; path: string; onChange: (when: When) => void }

function Conditions({ when, path, onChange }: ConditionsProps) {
  const set = (name: keyof When, value: unknown) => {
    const { [name]: _old, ...others } = when
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  const version = (name: 'minVersion' | 'maxVersion', label: string) => (
    <TextField
      label={label}
      path={`${path}.${name}`}
      value={when[name] ?? ''}
      placeholder="Any"
      onChange={(text) => set(name, text || undefined)}
    />
  )
  const list = (name: 'languages' | 'countries', label: string, example: string) => (
    <TextField
      label={label}
      path={`${path}.${name}`}
      defaultValue={when[name]?.join(', ')}
      placeholder={example}
      onChange={(text) => {
        const items = text.split(',').map((item) => item.trim())
        const nonEmpty = items.filter(Boolean)
        set(name, nonEmpty.length > 0 ? nonEmpty : undefined)
      }}
    />
  )
  return (
    <div class="grid">
      <SelectField
        label="Platform is"
        value={when.platform ?? ''}
        options={[['', 'Any platform'], ...PLATFORMS]}
        onChange={(platform) => set('platform', platform || undefined)}
      />
      {version('minVersion', 'Minimum version')}
      {version('maxVersion', 'Maximum version')}
      {list('languages', 'Languages', 'pt, en-GB')}
      {list('countries', 'Countries', 'BR, PT')}
      <TextField
        label="Percentage of users"
        path={`${path}.percent`}
        type="number"
        min={0}
        max={100}
        value={String(when.percent ?? '')}
        placeholder="100"
        onChange={(text) => set('percent', text === '' ? undefined : Number(text))}
      />
    </div>
  )
}

type ValueProps = {
  label: string
  path: string
  value: Value
  onChange: (value: Value) => void
}

function ValueField({ label, path, value, onChange }: ValueProps) {
  if (typeof value === 'boolean') {
    return <Checkbox label={label} checked={value} onChange={onChange} />
  }
  const isNumber = typeof value === 'number'
  // An incomplete number stays text until it is valid.
  return (
    <Field label={label} path={path}>
      <input
        inputMode={isNumber ? 'decimal' : 'text'}
        value={String(value)}
        onChange={(event) => {
          const { value: text } = event.currentTarget
          onChange(isNumber ? (parseNumber(text) as Value) : text)
        }}
      />
    </Field>
  )
}

/**
 * The initial value of a new rule. A yes-or-no value is inverted, so that the rule has an effect.
 */
function initialRuleValue(value: Value): Value {
  return typeof value === 'boolean' ? !value : value
}

/** Shows the values that a device would get from the unsaved settings. */
export function Preview({ features }: { features: Features }) {
  const [device, setDevice] = useState({
    platform: 'ios',
    version: '1.0.0',
    language: 'en',
    country: '',
    id: 'device-1',
  })
  const [values, setValues] = useState<Record<string, unknown> | null>(null)
  const set = (name: keyof typeof device) => (value: string) => {
    setDevice({ ...device, [name]: value })
    // The values on screen belong to the previous input.
    setValues(null)
  }
  const field = (name: keyof typeof device, label: string) => (
    <TextField label={label} value={device[name]} onChange={set(name)} />
  )
  const show = async () => {
    const { platform, version, language, country, id } = device
    const audience = {
      platform,
      version: version || null,
      country: country || null,
      id: id || null,
      languages: language ? [language] : [],
    }
    setValues(await send('preview/settings', { features, as: audience }))
  }
  return (
    <Card title="Preview">
      <p class="soft">Uses your unsaved changes.</p>
      <div class="grid">
        <SelectField
          label="Platform"
          value={device.platform}
          options={PLATFORMS}
          onChange={set('platform')}
        />
        {field('version', 'App version')}
        {field('language', 'Language')}
        {field('country', 'Country')}
        {field('id', 'User or device id')}
      </div>
      <div class="actions">
        <Action run={show}>Show</Action>
      </div>
      {values && <pre role="status">{JSON.stringify(values, null, 2)}</pre>}
    </Card>
  )
}
