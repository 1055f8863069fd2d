import { useState } from 'preact/hooks'
import type { View } from '../../../features/operators/views/views.ts'
import { PLATFORM_NAMES } from '../../../lib/app-platforms.ts'
import { send } from '../../api.ts'
import { day as dayText, formatCount } from '../../format.ts'
import { formatSearch, go, linkTo, query, readFilters } from '../../router.ts'
import { Field, FilterInput, SelectField, TextField, useFirstFieldFocus } from '../../ui/fields.tsx'
import { Filters } from '../../ui/filters.tsx'
import { Action } from '../../ui/parts.tsx'
import { useRemote } from '../../ui/remote.tsx'
import { ACCESS } from '../purchases/labels.ts'
import { useSupportDetails } from '../purchases/parts.tsx'

type Options = [value: string, name: string][]

export const USER_FILTERS = [
  'status',
  'plan',
  'guest',
  'platform',
  'country',
  'createdFrom',
  'createdTo',
  'seenWithin',
  'notSeenFor',
]
const PATH = 'people'
const DAYS = ['1', '7', '30', '90', '365']
const ANY: Options = [['', 'Any']]

/** The filters of the list of users, and the operator's saved views of it. `total`: of users found, if it is known. */
export function UserFilters({ total }: { total: number | null }) {
  const { filter } = readFilters(USER_FILTERS)
  const facts = useSupportDetails()
  const q = query.value.get('q') ?? ''
  const set = (changes: Record<string, string>) => go(linkTo(PATH, { q, ...filter, ...changes }))
  const choice = (name: string, label: string, options: Options) => {
    const value = filter[name] ?? ''
    const isKnown = value === '' || options.some(([known]) => known === value)
    return (
      <SelectField
        label={label}
        value={value}
        options={[...ANY, ...options, ...(isKnown ? [] : [[value, value] as Options[number]])]}
        onChange={(chosen) => set({ [name]: chosen })}
      />
    )
  }
  const day = (name: string, label: string) => (
    <Field label={label}>
      <input
        type="date"
        value={filter[name] ?? ''}
        onChange={(event) => set({ [name]: event.currentTarget.value })}
      />
    </Field>
  )
  const { country = '' } = filter
  return (
    <>
      <Filters
        filter={filter}
        describe={describe}
        onRemove={(name) => set({ [name]: '' })}
        {...(total === null ? {} : { results: `Show ${formatCount(total, 'user')}` })}
      >
        {choice(
          'status',
          'Status',
          Object.entries(ACCESS).map(([status, [name]]) => [status, name]),
        )}
        {choice(
          'plan',
          'Plan',
          facts?.plans.map((code) => [code, facts.planNames[code] ?? code]) ?? [],
        )}
        {choice('guest', 'Account', [
          ['false', 'Registered'],
          ['true', 'Guest'],
        ])}
        {choice('platform', 'Platform', Object.entries(PLATFORM_NAMES))}
        <Field label="Country">
          <FilterInput
            value={country}
            maxLength={2}
            placeholder="Code, such as BR"
            autocomplete="off"
            onSet={(text) => set({ country: text })}
          />
        </Field>
        <LastSeen filter={filter} onChange={set} />
        {day('createdFrom', 'Registered on or after (UTC)')}
        {day('createdTo', 'Registered on or before (UTC)')}
      </Filters>
      <Views filter={filter} />
    </>
  )
}

/** Words for a filter that is set. Unknown values of the address stay as they are. */
function describe(name: string, value: string): string {
  const [status] = ACCESS[value as keyof typeof ACCESS] ?? [value]
  const words: Record<string, () => string> = {
    status: () => status,
    guest: () => (value === 'true' ? 'Guest' : 'Registered'),
    platform: () => PLATFORM_NAMES[value] ?? value,
    country: () => value.toUpperCase(),
    createdFrom: () => `Registered on or after ${formatDay(value)} (UTC)`,
    createdTo: () => `Registered on or before ${formatDay(value)} (UTC)`,
    seenWithin: () => `Seen in ${lastDays(value)}`,
    notSeenFor: () => `Not seen in ${lastDays(value)}`,
  }
  return words[name]?.() ?? value
}

function formatDay(text: string): string {
  const at = new Date(`${text}T00:00`)
  return Number.isNaN(at.getTime()) ? text : dayText(at.toISOString())
}

type LastSeenProps = {
  filter: Record<string, string>
  onChange: (changes: Record<string, string>) => void
}

/** One choice for the two filters, of which a list rarely needs both. */
function LastSeen({ filter, onChange }: LastSeenProps) {
  const { seenWithin = '', notSeenFor = '' } = filter
  const value = notSeenFor ? `not-${notSeenFor}` : seenWithin
  const known = [...new Set([...DAYS, seenWithin || notSeenFor])].filter(Boolean)
  const within = known.map((days): Options[number] => [days, `In ${lastDays(days)}`])
  const not = known.map((days): Options[number] => [`not-${days}`, `Not in ${lastDays(days)}`])
  return (
    <SelectField
      label="Last seen"
      value={value}
      options={[...ANY, ...within, ...not]}
      onChange={(chosen) => {
        const [days = '', isNot] = chosen.split('-').toReversed()
        onChange({ seenWithin: isNot ? '' : days, notSeenFor: isNot ? days : '' })
      }}
    />
  )
}

function lastDays(days: string): string {
  return days === '1' ? 'the last day' : `the last ${days} days`
}

/** Links to the saved views, and a way to save or remove the current one. */
function Views({ filter }: { filter: Record<string, string> }) {
  const [name, setName] = useState<string | null>(null)
  const { data, reload } = useRemote<View[]>('me/views')
  const views = data?.filter(({ path }) => path === PATH) ?? []
  const search = formatSearch(filter)
  const current = views.find((view) => view.search === search)
  const save = async () => {
    await send('me/views', { name: name?.trim(), path: PATH, search })
    await reload()
    setName(null)
  }
  const remove = async () => {
    await send('me/views/remove', { name: current?.name })
    await reload()
  }
  if (views.length === 0 && search === '') return null
  return (
    <form class="views" aria-label="Saved views" onSubmit={(event) => event.preventDefault()}>
      {views.map((view) => (
        <a
          key={view.name}
          class="button"
          href={linkTo(PATH) + view.search}
          aria-current={view === current ? 'true' : undefined}
        >
          {view.name}
        </a>
      ))}
      {current && (
        <Action kind="quiet" run={remove} done={`Removed the view ${current.name}.`}>
          Remove view
        </Action>
      )}
      {search !== '' && name === null && (
        <a class="button" href={linkTo(PATH, { q: query.value.get('q') ?? '' })}>
          Clear filters
        </a>
      )}
      {!current && search !== '' && name === null && (
        <button type="button" class="quiet" onClick={() => setName('')}>
          Save view
        </button>
      )}
      {!current && search !== '' && name !== null && (
        <ViewName name={name} setName={setName} save={save} />
      )}
    </form>
  )
}

type ViewNameProps = {
  name: string
  setName: (name: string | null) => void
  save: () => Promise<void>
}

function ViewName({ name, setName, save }: ViewNameProps) {
  const form = useFirstFieldFocus<HTMLSpanElement>()
  return (
    <span ref={form} class="views">
      <TextField label="Name of the view" maxLength={64} value={name} onChange={setName} />
      <Action kind="primary" isSubmit disabled={name.trim() === ''} run={save} done="View saved.">
        Save
      </Action>
      <button type="button" onClick={() => setName(null)}>
        Cancel
      </button>
    </span>
  )
}
