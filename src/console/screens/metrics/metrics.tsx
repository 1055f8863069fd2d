import type { ComponentType } from 'preact'
import { go, linkTo, parts, query, withQuery } from '../../router.ts'
import { Checkbox, SelectField } from '../../ui/fields.tsx'
import { Tabs, Title } from '../../ui/parts.tsx'
import { Deliveries } from './deliveries.tsx'
import { Endpoints } from './endpoints.tsx'
import { SlowestRequests } from './slowest.tsx'
import { Traffic } from './traffic.tsx'

const SECTIONS: [path: string, name: string, Section: ComponentType][] = [
  ['', 'Traffic', Traffic],
  ['/endpoints', 'Endpoints', Endpoints],
  ['/deliveries', 'Deliveries', Deliveries],
  ['/slowest', 'Slowest requests', SlowestRequests],
]
const SPANS: [hours: string, name: string][] = [
  ['1', 'Last hour'],
  ['6', 'Last 6 hours'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
]

export function Screen() {
  const [, current = ''] = parts.value
  const { hours, day, week } = Object.fromEntries(query.value)
  const section = SECTIONS.find(([path]) => path === `/${current}`) ?? SECTIONS[0]
  if (!section) return null
  const [shown, , Section] = section
  const set = (change: Record<string, string>) => go(withQuery(change))
  return (
    <>
      <Title>Metrics</Title>
      <Tabs
        label="Metrics"
        tabs={SECTIONS.map(([path, name]) => [
          linkTo(`metrics${path}`, { hours, day, week }),
          name,
          path === shown,
        ])}
      />
      {shown !== '/slowest' && (
        <form class="filters" aria-label="Time range" onSubmit={(event) => event.preventDefault()}>
          <SelectField
            label="Time range"
            value={hours ?? '1'}
            options={SPANS}
            onChange={(value) => set({ hours: value })}
          />
          {shown !== '/deliveries' && (
            <fieldset class="plain">
              <legend>Compare with</legend>
              {(['day', 'week'] as const).map((age) => (
                <Checkbox
                  key={age}
                  label={`Previous ${age}`}
                  checked={query.value.get(age) === 'on'}
                  onChange={(isOn) => set({ [age]: isOn ? 'on' : '' })}
                />
              ))}
            </fieldset>
          )}
        </form>
      )}
      <Section />
    </>
  )
}
