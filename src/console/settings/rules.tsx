import { useState } from 'preact/hooks'
import { describeConditions } from '../../lib/text/rule-labels.ts'
import { EditableList } from '../editing/editable-list.tsx'
import { value as formatValue } from '../format.ts'
import { NumberField, SelectField, TextField } from '../ui/fields.tsx'
import { Conditions, type When } from './conditions.tsx'

export type Rule = { when: When; value: unknown }

const MAX_RULES = 20

type RulesProps = {
  label: string
  /** The path of the list in the server's errors. */
  path: string
  rules: Rule[]
  defaultValue: unknown
  onChange: (rules: Rule[]) => void
}

export function RulesEditor({ label, path, rules, defaultValue, onChange }: RulesProps) {
  const hasRules = rules.length > 0
  return (
    <EditableList
      items={rules}
      onChange={onChange}
      path={path}
      class={hasRules ? 'rules' : ''}
      label={`Rules for ${label}`}
      nameOf={(_, at) => `rule ${at + 1} for ${label}`}
      summaryOf={(rule, at) => (
        <span>
          {at + 1}. <strong>{formatValue(rule.value)}</strong> {describeConditions(rule)}
        </span>
      )}
      fields={(rule, at, change) => (
        <>
          <Conditions
            when={rule.when}
            path={`${path}.${at}.when`}
            onChange={(when) => change({ ...rule, when })}
          />
          <div class="grid">
            <ValueField
              label="Value"
              path={`${path}.${at}.value`}
              value={rule.value}
              onChange={(value) => change({ ...rule, value })}
            />
          </div>
        </>
      )}
      removal={(_, at, remove) => (
        <button
          type="button"
          class="danger"
          aria-label={`Remove rule ${at + 1} for ${label}`}
          onClick={remove}
        >
          Remove rule
        </button>
      )}
    >
      {(add) => (
        <>
          {hasRules && <small class="soft">Otherwise: the default value.</small>}
          <button
            type="button"
            class="quiet add"
            disabled={rules.length >= MAX_RULES}
            onClick={() => add({ when: {}, value: initialValue(defaultValue) })}
          >
            Add rule<span class="unseen"> to {label}</span>
          </button>
        </>
      )}
    </EditableList>
  )
}

type ValueProps = {
  label: string
  path: string
  value: unknown
  onChange: (value: unknown) => void
}

/** A value that keeps its initial type: yes or no, a number, or text. */
export function ValueField({ label, path, value, onChange }: ValueProps) {
  // An incomplete number is text until it is valid.
  const [isNumber] = useState(typeof value === 'number')
  if (typeof value === 'boolean') {
    return (
      <SelectField
        label={label}
        path={path}
        value={String(value)}
        options={[
          ['true', 'Yes'],
          ['false', 'No'],
        ]}
        onChange={(text) => onChange(text === 'true')}
      />
    )
  }
  const field = { label, path, onChange }
  return isNumber ? (
    <NumberField {...field} value={value} />
  ) : (
    <TextField {...field} value={String(value)} />
  )
}

/** The first value of a new rule. A yes-or-no value is inverted, so that the rule has an effect. */
function initialValue(value: unknown): unknown {
  return typeof value === 'boolean' ? !value : value
}
