import { useContext, useState } from 'preact/hooks'
import type { StoredSettings } from '../../features/settings/model.ts'
import type { Explanation } from '../../features/settings/rules/resolution.ts'
import { PLATFORM_NAMES } from '../../lib/app-platforms.ts'
import { send } from '../api.ts'
import { value as formatValue, words } from '../format.ts'
import { canEdit } from '../operator.ts'
import { SelectField, TextField } from '../ui/fields.tsx'
import { Action, Card, Details } from '../ui/parts.tsx'
import { COUNTRIES, parseCodes } from './codes-field.tsx'
import { NO_COUNTRY, SurroundingsContext } from './surroundings.ts'

type Shown = { content: StoredSettings; device: object; settings: Explanation[] }

/** Shows what an app would get from the unsaved settings, and why. */
export function Preview({ content }: { content: StoredSettings }) {
  const { plans, countryHeader } = useContext(SurroundingsContext)
  const [device, setDevice] = useState({
    platform: 'ios',
    version: '1.0.0',
    language: 'en',
    country: '',
    plan: '',
    id: 'device-1',
  })
  const [shown, setShown] = useState<Shown | null>(null)
  // A response to earlier input, which may arrive late, is not shown.
  const isCurrent = shown?.content === content && shown.device === device
  const set = (name: keyof typeof device) => (value: string) =>
    setDevice({ ...device, [name]: value })
  const field = (name: keyof typeof device, label: string, hint?: string) => (
    <TextField label={label} hint={hint} value={device[name]} onChange={set(name)} />
  )
  const show = async () => {
    const { platform, version, language, country, plan, id } = device
    const audience = {
      platform,
      version: version || null,
      country: parseCodes(country, COUNTRIES)[0] ?? null,
      plan: plan || null,
      id: id || null,
      languages: language ? [language] : [],
    }
    const settings = await send<Explanation[]>('preview/settings', { content, as: audience })
    setShown({ content, device, settings })
  }
  const select = (name: keyof typeof device, label: string, options: [string, string][]) => (
    <SelectField label={label} value={device[name]} options={options} onChange={set(name)} />
  )
  return (
    <Card title="App preview">
      <p class="soft">What an app gets{canEdit.value && ' from your unsaved changes'}, and why.</p>
      <div class="grid">
        {select('platform', 'Platform', Object.entries(PLATFORM_NAMES))}
        {field('version', 'App version')}
        {field('language', 'Language')}
        {field('country', 'Country', countryHeader === null ? NO_COUNTRY : undefined)}
        {select('plan', 'Plan', [
          ['', 'None (signed out)'],
          ...plans.map(({ code, name }): [string, string] => [code, `${name} (${code})`]),
        ])}
        {field('id', 'User or device id')}
      </div>
      <div class="actions">
        <Action run={show}>Show</Action>
      </div>
      {isCurrent && <Explanations settings={shown.settings} />}
    </Card>
  )
}

function Explanations({ settings }: { settings: Explanation[] }) {
  const withRules = settings.filter(({ reasons }) => reasons.length > 0)
  const others = settings.filter(({ reasons }) => reasons.length === 0)
  return (
    <div role="status" class="explained">
      {withRules.map(({ key, value, reasons }) => (
        <div key={key}>
          <h3>
            {findName(key)}: {formatValue(value)}
          </h3>
          <ul>
            {reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </div>
      ))}
      <details open={withRules.length === 0}>
        <summary>Settings without rules</summary>
        <Details items={others.map(({ key, value }) => [findName(key), formatValue(value)])} />
      </details>
    </div>
  )
}

function findName(key: string): string {
  return key.startsWith('features.') ? key.slice('features.'.length) : words(key)
}
