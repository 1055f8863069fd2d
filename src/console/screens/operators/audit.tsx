import type { Operators } from '../../../features/operators/operators.ts'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { download, type ReplyOf } from '../../api.ts'
import { startOfDay, unnamedUser } from '../../format.ts'
import { canEdit } from '../../operator.ts'
import { formatSearch, linkTo, readFilters } from '../../router.ts'
import { Changes } from '../../ui/changes.tsx'
import { type FilterKinds, ListFilters } from '../../ui/filters.tsx'
import { Action, Time, Title } from '../../ui/parts.tsx'
import { usePages, useRemote } from '../../ui/remote.tsx'
import { type Column, PagedTable } from '../../ui/table.tsx'
import { Breakable, ShortId, UserLink } from '../../ui/user-link.tsx'
import { labelAction, listActions, nameAction, summarizeChanges } from './audit-summary.ts'

type AuditPage = ReplyOf<Operators['audit']['list']> & { names: Record<string, string> }
type Entry = AuditPage['entries'][number] & Pick<AuditPage, 'names'>

const prefixedWith = (name: string) => ({ describe: (value: string) => `${name} ${value}` })
const DAY = { type: 'date' } as const
const INPUT_FILTERS: FilterKinds = {
  operator: { hint: 'The name of an operator', ...prefixedWith('operator') },
  target: { hint: 'An id or a name', ...prefixedWith('target') },
  from: { input: DAY, ...prefixedWith('from') },
  to: { label: 'Until', input: DAY, ...prefixedWith('to') },
}

/** The audit log: every action with its operator and changes. */
export function Screen() {
  const kinds = { action: { options: listActions(), describe: nameAction }, ...INPUT_FILTERS }
  const { filter } = readFilters(Object.keys(kinds))
  const search = formatSearch(toRequest(readFilters([...Object.keys(kinds), 'sort']).filter))
  const endpoints = useRemote<{ endpoints: { id: string; url: string }[] }>('webhooks').data
  const urls = Object.fromEntries(endpoints?.endpoints.map(({ id, url }) => [id, url]) ?? [])
  const pages = usePages(`audit${search}`, namedEntries)
  return (
    <>
      <Title
        actions={
          canEdit.value && (
            <Action run={() => download(`audit/export${search}`)}>Export JSON</Action>
          )
        }
      >
        Audit log
      </Title>
      <p class="print-only">{describeFilter(filter)}</p>
      <ListFilters path="audit" kinds={kinds} />
      <PagedTable
        caption="Audit log"
        pages={pages}
        noun="action"
        columns={columnsFor(urls)}
        order="-at"
        empty="No entries match."
        detail={(entry) => (entry.before || entry.after) && <EntryChanges entry={entry} />}
      />
    </>
  )
}

/** The filter as the server reads it: days in the operator's time zone become times. */
function toRequest({ from, to, ...filter }: Record<string, string>) {
  return { ...filter, since: from && computeStart(from), until: to && computeStart(to, 1) }
}

/** The start of the day that is `daysLater` days after `day`. An invalid day is returned unchanged; the server refuses it. */
function computeStart(day: string, daysLater = 0): string {
  const wanted = Date.parse(`${day}T00:00Z`) + daysLater * DAY_MS
  if (Number.isNaN(wanted)) return day
  const start = startOfDay(new Date(wanted).toISOString().slice(0, 10))
  return Number.isNaN(start) ? day : new Date(start).toISOString()
}

/** The heading of a printed extract. */
function describeFilter(filter: Record<string, string>): string {
  const parts = Object.entries(filter).map(([name, text]) => `${name} ${text}`)
  return `Extract from the audit log: ${parts.join(', ') || 'all entries'}`
}

function namedEntries({ entries, names }: AuditPage): Entry[] {
  return entries.map((entry) => ({ ...entry, names }))
}

const columnsFor = (urls: Record<string, string>): Column<Entry>[] => [
  {
    name: 'Action',
    cell: (entry) => (
      <>
        <strong>{labelAction(entry.action)}</strong>{' '}
        <Target {...entry} url={urls[entry.target ?? '']} />
      </>
    ),
  },
  {
    name: 'Operator',
    onPhone: 'line',
    cell: ({ operator, origin }) => operator ?? `Command line, user ${origin}`,
  },
  {
    name: 'IP address',
    onPhone: 'line',
    cell: ({ operator, origin }) => operator && <span class="unbroken">{origin}</span>,
  },
  { name: 'Time', onPhone: 'line', sort: '-at', cell: ({ at }) => <Time at={at} /> },
]

/**
 * The screens of targets other than users. A path that ends with `/` takes the target. An action is called
 * `events.replay` in the console and `events replay` as a command.
 */
const SCREENS: [action: RegExp, path: string][] = [
  [/^events.replay$/, 'events/'],
  [/^purchases\W/, 'purchases/'],
  [/^deliveries\W/, 'webhooks/deliveries/'],
  [/^webhooks\W/, 'webhooks/'],
  [/^settings\W/, 'settings/history'],
  [/^plans.(publish|rollback)$/, 'plans/history'],
  [/^plans.archive$/, 'plans'],
  [/^faqs\W/, 'faqs/history'],
  [/^emails.(publish|rollback)$/, 'emails/history'],
  [/^alerts\W/, 'alerts'],
  [/^api-keys\W/, 'api-keys'],
  [/^backups\W/, 'backups'],
  [/^keys\W/, 'keys'],
  [/^operators.(add|change-role|reset)$/, 'operators'],
]

/** `url` is the URL of the webhook endpoint that the action was about. */
function Target({ action, target, names, url }: Entry & { url: string | undefined }) {
  if (target === null || target === '') return null
  const screen = SCREENS.find(([pattern]) => pattern.test(action))?.[1]
  if (screen === undefined || target in names) return <UserLink id={target} names={names} />
  const isId = screen.endsWith('/')
  return (
    <a href={linkTo(isId ? screen + encodeSegment(target) : screen)}>
      {isId && url === undefined ? <ShortId id={target} /> : <Breakable text={url ?? target} />}
    </a>
  )
}

function EntryChanges({ entry }: { entry: Entry }) {
  const changes = listChanges(entry)
  return (
    <details>
      <summary>{summarizeChanges(changes)}</summary>
      <Changes changes={changes} />
      <p class="soft">
        <code>{entry.action}</code>
        {entry.requestId && `, request ${entry.requestId}`}
      </p>
    </details>
  )
}

function listChanges({ before, after, names }: Entry) {
  const paths = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...paths].map((path) => ({
    path,
    before: withUserName(before?.[path] ?? null, names),
    after: withUserName(after?.[path] ?? null, names),
  }))
}

/** The name of a user instead of the id. */
function withUserName(value: unknown, names: Record<string, string>): unknown {
  if (typeof value !== 'string' || !(value in names)) return value
  return names[value] || unnamedUser(value)
}
