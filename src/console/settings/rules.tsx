import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { describeConditions } from '../../lib/text/rule-labels.ts'
import { value as formatValue } from '../format.ts'
import { NumberField, SelectField, TextField } from '../ui/fields.tsx'
import { problemsAt, useProblems } from '../ui/problems.tsx'
import { Conditions, type When } from './conditions.tsx'

export type Rule = { when: When; value: unknown }

const MAX_RULES = 20

type RulesProps = {
  label: string
  /** The path by which the server names the list in errors. */
  path: string
  rules: Rule[]
  defaultValue: unknown
  onChange: (rules: Rule[]) => void
}

export function RulesEditor({ label, path, rules, defaultValue, onChange }: RulesProps) {
  const [open, setOpen] = useState<number | null>(null)
  const element = useRef<HTMLDivElement>(null)
  /** The control to focus once it is on screen. */
  const nextFocus = useRef<string | null>(null)
  const [invalid] = problemsAt(useProblems(), path)
  useLayoutEffect(() => {
    const at = Number(invalid?.path.slice(path.length + 1).split('.')[0])
    if (Number.isInteger(at)) setOpen(at)
  }, [invalid])
  useLayoutEffect(() => {
    if (nextFocus.current === null) return
    element.current?.querySelector<HTMLElement>(nextFocus.current)?.focus()
    nextFocus.current = null
  })
  const update = (next: Rule[], nextOpen: number | null, focus: string) => {
    nextFocus.current = focus
    setOpen(nextOpen)
    onChange(next)
  }
  const add = () =>
    update(
      [...rules, { when: {}, value: initialValue(defaultValue) }],
      rules.length,
      'li:last-child :is(select, input)',
    )
  const move = (from: number, to: number) => {
    const moved = rules.toSpliced(from, 1).toSpliced(to, 0, rules[from] as Rule)
    update(moved, null, `li:nth-child(${to + 1}) button`)
  }
  const moveButton = (from: number, to: number) => (
    <button
      type="button"
      class="quiet"
      disabled={to < 0 || to >= rules.length}
      aria-label={`Move rule ${from + 1} of ${label} ${to < from ? 'up' : 'down'}`}
      onClick={() => move(from, to)}
    >
      {to < from ? '↑' : '↓'}
    </button>
  )
  return (
    <div ref={element} class={rules.length > 0 ? 'rules' : ''}>
      {rules.length > 0 && (
        <ol class="list" aria-label={`Rules of ${label}`}>
          {rules.map((rule, at) => (
            <li key={at}>
              <span>
                {at + 1}. <strong>{formatValue(rule.value)}</strong> {describeConditions(rule)}
              </span>
              <span class="actions">
                <button
                  type="button"
                  aria-expanded={open === at}
                  aria-label={`${open === at ? 'Close' : 'Edit'} rule ${at + 1} of ${label}`}
                  onClick={() => setOpen(open === at ? null : at)}
                >
                  {open === at ? 'Close' : 'Edit'}
                </button>
                {moveButton(at, at - 1)}
                {moveButton(at, at + 1)}
              </span>
              {open === at && (
                <fieldset>
                  <legend class="unseen">Rule {at + 1}: when</legend>
                  <Conditions
                    when={rule.when}
                    path={`${path}.${at}.when`}
                    onChange={(when) => onChange(rules.with(at, { ...rule, when }))}
                  />
                  <div class="grid">
                    <ValueField
                      label="Value"
                      path={`${path}.${at}.value`}
                      value={rule.value}
                      onChange={(value) => onChange(rules.with(at, { ...rule, value }))}
                    />
                  </div>
                  <div class="actions">
                    <button
                      type="button"
                      class="danger"
                      aria-label={`Remove rule ${at + 1} of ${label}`}
                      onClick={() => update(rules.toSpliced(at, 1), null, '.add')}
                    >
                      Remove rule
                    </button>
                  </div>
                </fieldset>
              )}
            </li>
          ))}
        </ol>
      )}
      {rules.length > 0 && <small class="soft">Otherwise: the default value.</small>}
      <button type="button" class="quiet add" disabled={rules.length >= MAX_RULES} onClick={add}>
        Add rule<span class="unseen"> to {label}</span>
      </button>
    </div>
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
