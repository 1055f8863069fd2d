import { useState } from 'preact/hooks'
import type { StoredSettings } from '../../features/settings/model.ts'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Card } from '../ui/parts.tsx'
import { RulesEditor, ValueField } from './rules.tsx'

type Features = StoredSettings['features']
type Feature = Features[string]
type FeaturesProps = { features: Features; onChange: (features: Features) => void }

const TYPES: [type: string, name: string][] = [
  ['boolean', 'Yes or no'],
  ['number', 'Number'],
  ['string', 'Text'],
]

export function CustomSettings({ features, onChange }: FeaturesProps) {
  const [name, setName] = useState('')
  const [type, setType] = useState('boolean')
  const isTaken = Object.hasOwn(features, name.trim())
  const add = () => {
    const value = type === 'boolean' ? false : type === 'number' ? 0 : ''
    onChange({ ...features, [name.trim()]: { value, rules: [] } })
    setName('')
  }
  return (
    <fieldset>
      <legend>Custom settings</legend>
      {Object.entries(features).map(([key, feature]) => (
        <CustomSetting
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
        <TextField
          label="Name"
          hint={isTaken ? 'This name is already used' : 'For example newPaywall'}
          value={name}
          onChange={setName}
        />
        <SelectField label="Type" value={type} options={TYPES} onChange={setType} />
        <button type="button" disabled={name.trim() === '' || isTaken} onClick={add}>
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

function CustomSetting({ name, feature, onChange, onRemove }: FeatureProps) {
  const path = `settings.features.${name}`
  const { value, rules } = feature
  return (
    <Card title={name}>
      <ValueField
        label="Default value"
        path={`${path}.value`}
        value={value}
        onChange={(next) => onChange({ ...feature, value: next as Feature['value'] })}
      />
      <RulesEditor
        label={name}
        path={`${path}.rules`}
        rules={rules}
        defaultValue={value}
        onChange={(next) => onChange({ ...feature, rules: next as Feature['rules'] })}
      />
      <div class="actions">
        <button type="button" class="danger" onClick={onRemove}>
          Remove {name}
        </button>
      </div>
    </Card>
  )
}
