import { useState } from 'preact/hooks'
import { NumberField, SelectField, TextField } from '../../ui/fields.tsx'

type Plan = Record<string, unknown>
type Limits = Record<string, unknown>

const PERIODS: [value: string, name: string][] = [
  ['month', 'Per month'],
  ['day', 'Per day'],
  ['total', 'In total'],
]

type CustomLimitsProps = { plan: Plan; path: string; onChange: (plan: Plan) => void }

export function CustomLimits({ plan, path, onChange }: CustomLimitsProps) {
  const [name, setName] = useState('')
  const limits = (plan['limits'] ?? {}) as Limits
  const periods = (plan['limitPeriods'] ?? {}) as Limits
  const change = (nextLimits: Limits, nextPeriods: Limits) => {
    const { limits: _limits, limitPeriods: _periods, ...rest } = plan
    onChange({
      ...rest,
      ...(Object.keys(nextLimits).length > 0 ? { limits: nextLimits } : {}),
      ...(Object.keys(nextPeriods).length > 0 ? { limitPeriods: nextPeriods } : {}),
    })
  }
  const isTaken = Object.hasOwn(limits, name.trim())
  const add = () => {
    change({ ...limits, [name.trim()]: 0 }, periods)
    setName('')
  }
  return (
    <fieldset>
      <legend>Custom limits</legend>
      <small class="soft">
        Your servers report usage against these limits through the server API.
      </small>
      {Object.entries(limits).map(([limit, amount]) => (
        <div class="fields" key={limit}>
          <NumberField
            label={limit}
            placeholder="Unlimited"
            path={`${path}.limits.${limit}`}
            inputMode="numeric"
            value={amount}
            onChange={(next) => change({ ...limits, [limit]: next === '' ? null : next }, periods)}
          />
          <SelectField
            label={`Period for ${limit}`}
            value={String(periods[limit] ?? 'month')}
            options={PERIODS}
            path={`${path}.limitPeriods.${limit}`}
            onChange={(period) => change(limits, { ...periods, [limit]: period })}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => change(without(limits, limit), without(periods, limit))}
          >
            Remove {limit}
          </button>
        </div>
      ))}
      <div class="fields">
        <TextField
          label="New limit"
          placeholder="exports"
          hint={isTaken ? 'This name is already used' : undefined}
          value={name}
          onChange={setName}
        />
        <button type="button" disabled={name.trim() === '' || isTaken} onClick={add}>
          Add limit
        </button>
      </div>
    </fieldset>
  )
}

function without(values: Limits, name: string): Limits {
  return Object.fromEntries(Object.entries(values).filter(([other]) => other !== name))
}
