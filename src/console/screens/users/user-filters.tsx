import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { View } from '../../../features/operators/views/views.ts'
import { PLATFORM_NAMES } from '../../../lib/app-platforms.ts'
import { send } from '../../api.ts'
import { day as dayText, formatCount, startOfDay } from '../../format.ts'
import { formatSearch, linkTo, query, readFilters } from '../../router.ts'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { type FilterKind, type FilterKinds, ListFilters } from '../../ui/filters.tsx'
import { Action } from '../../ui/parts.tsx'
import { useRemote } from '../../ui/remote.tsx'
import { ACCESS } from '../purchases/labels.ts'
import { useSupportDetails } from '../purchases/parts.tsx'

/** The order must stay: a saved view is recognized by its address. */
const KINDS: FilterKinds = {
  status: { options: Object.keys(ACCESS), describe: nameStatus },
  plan: {},
  guest: {
    label: 'Account',
    options: ['false', 'true'],
    describe: (value) => (value === 'true' ? 'Guest' : 'Registered'),
  },
  platform: {
    options: Object.keys(PLATFORM_NAMES),
    describe: (value) => PLATFORM_NAMES[value] ?? value,
  },
  country: {
    input: { maxLength: 2, placeholder: 'Code, such as BR', autocomplete: 'off' },
    describe: (value) => value.toUpperCase(),
  },
  createdFrom: registered('on or after'),
  createdTo: registered('on or before'),
  seenWithin: {
    control: (filter, set) => <LastSeen filter={filter} onChange={set} />,
    describe: (value) => `Seen in ${lastDays(value)}`,
  },
  notSeenFor: { control: () => null, describe: (value) => `Not seen in ${lastDays(value)}` },
}
export const USER_FILTERS = Object.keys(KINDS)
const PATH = 'people'
const DAYS = ['1', '7', '30', '90', '365']

/** The filters of the user list, and the operator's saved views. `total`: the number of users found, if known. */
export function UserFilters({ total }: { total: number | null }) {
  const { plans = [], planNames = {} } = useSupportDetails() ?? {}
  const plan: FilterKind = { options: plans, describe: (code) => planNames[code] ?? code }
  return (
    <>
      <ListFilters
        path={PATH}
        kinds={{ ...KINDS, plan }}
        kept={{ q: query.value.get('q') ?? '' }}
        {...(total !== null && { results: `Show ${formatCount(total, 'user')}` })}
      />
      <Views filter={readFilters(USER_FILTERS).filter} />
    </>
  )
}

function nameStatus(status: string): string {
  return ACCESS[status as keyof typeof ACCESS]?.[0] ?? status
}

function registered(when: string): FilterKind {
  return {
    label: `Registered ${when} (UTC)`,
    input: { type: 'date' },
    describe: (day) => `Registered ${when} ${formatDay(day)} (UTC)`,
  }
}

function formatDay(text: string): string {
  const start = startOfDay(text)
  return Number.isNaN(start) ? text : dayText(new Date(start).toISOString())
}

type LastSeenProps = {
  filter: Record<string, string>
  onChange: (changes: Record<string, string>) => void
}

/** One choice for two filters, because a list rarely needs both. */
function LastSeen({ filter, onChange }: LastSeenProps) {
  const { seenWithin = '', notSeenFor = '' } = filter
  const value = notSeenFor ? `not-${notSeenFor}` : seenWithin
  const known = [...new Set([...DAYS, seenWithin || notSeenFor])].filter(Boolean)
  const within = known.map((days): [string, string] => [days, `In ${lastDays(days)}`])
  const not = known.map((days): [string, string] => [`not-${days}`, `Not in ${lastDays(days)}`])
  return (
    <SelectField
      label="Last seen"
      value={value}
      options={[['', 'Any'], ...within, ...not]}
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

/** Focuses its field, because it replaces the button that opened it. */
function ViewName({ name, setName, save }: ViewNameProps) {
  const form = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => form.current?.querySelector('input')?.focus(), [])
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
