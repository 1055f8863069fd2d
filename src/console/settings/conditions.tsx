import { useContext, useState } from 'preact/hooks'
import type { StoredSettings } from '../../features/settings/model.ts'
import { PLATFORM_NAMES } from '../../lib/app-platforms.ts'
import { Checkbox, NumberField, SelectField, TextField } from '../ui/fields.tsx'
import { COUNTRIES, CodesField, LANGUAGES } from './codes-field.tsx'
import { NO_COUNTRY, SurroundingsContext } from './surroundings.ts'

export type When = StoredSettings['features'][string]['rules'][number]['when']

type ConditionsProps = { when: When; path: string; onChange: (when: When) => void }

/** Rules of settings that only one platform reads. */
const OF_ONE_PLATFORM = /^settings\.rules\.(ios|android)\./

export function Conditions({ when, path, onChange }: ConditionsProps) {
  const { countryHeader } = useContext(SurroundingsContext)
  // The field stays while it is being cleared.
  const [hasMaxVersion] = useState(when.maxVersion !== undefined)
  const set = (name: keyof When, value: unknown) => {
    const { [name]: _old, ...others } = when
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  const setList = (name: keyof When) => (items: string[]) =>
    set(name, items.length > 0 ? items : undefined)
  const version = (name: 'minVersion' | 'belowVersion' | 'maxVersion', label: string) => (
    <TextField
      label={label}
      path={`${path}.${name}`}
      value={when[name] ?? ''}
      placeholder="Any version"
      onChange={(text) => set(name, text || undefined)}
    />
  )
  return (
    <div class="grid">
      {(when.platform !== undefined || !OF_ONE_PLATFORM.test(path)) && (
        <SelectField
          label="Platform"
          path={`${path}.platform`}
          value={when.platform ?? ''}
          options={[['', 'Any platform'], ...Object.entries(PLATFORM_NAMES)]}
          onChange={(platform) => set('platform', platform || undefined)}
        />
      )}
      {version('minVersion', 'From version')}
      {version('belowVersion', 'Below version')}
      {hasMaxVersion && version('maxVersion', 'Up to version')}
      <CodesField
        label="Countries"
        warning={countryHeader === null && when.countries ? NO_COUNTRY : undefined}
        path={`${path}.countries`}
        names={COUNTRIES}
        placeholder={when.countries ? 'Add a country' : 'Any country'}
        codes={when.countries ?? []}
        onChange={setList('countries')}
      />
      <CodesField
        label="Languages"
        path={`${path}.languages`}
        names={LANGUAGES}
        placeholder={when.languages ? 'Add a language' : 'Any language'}
        codes={when.languages ?? []}
        onChange={setList('languages')}
      />
      <NumberField
        label="Percentage of users"
        hint="The same users every time"
        path={`${path}.percent`}
        value={when.percent}
        placeholder="100"
        onChange={(percent) => set('percent', percent === '' ? undefined : percent)}
      />
      <Plans chosen={when.plans ?? []} onChange={setList('plans')} />
    </div>
  )
}

type PlansProps = { chosen: string[]; onChange: (codes: string[]) => void }

function Plans({ chosen, onChange }: PlansProps) {
  const { plans } = useContext(SurroundingsContext)
  const isOnSale = (code: string) => plans.some((plan) => plan.code === code)
  const former = chosen.filter((code) => !isOnSale(code))
  const choices = [
    ...plans.map(({ code, name }) => [code, `${name} (${code})`] as const),
    ...former.map((code) => [code, `${code} (not on sale)`] as const),
  ]
  return (
    <fieldset class="plain">
      <legend>Plans</legend>
      <small class="soft">If none is selected: any plan, and signed-out users</small>
      {choices.map(([code, name]) => (
        <Checkbox
          key={code}
          label={name}
          checked={chosen.includes(code)}
          onChange={(isChosen) =>
            onChange(isChosen ? [...chosen, code] : chosen.filter((other) => other !== code))
          }
        />
      ))}
    </fieldset>
  )
}
