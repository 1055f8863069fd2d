import type { Operators } from '../../features/operators/operators.ts'
import { download, type ReplyOf } from '../api.ts'
import { filtersIn, go, linkTo } from '../router.ts'
import { Changes } from '../ui/changes.tsx'
import { Field } from '../ui/fields.tsx'
import { Filters } from '../ui/filters.tsx'
import { Action, Badge, List, Time, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'

type AuditPage = ReplyOf<Operators['audit']['list']>
type Entry = AuditPage['entries'][number]

/** The audit log: every action with its operator and changes. */
export function AuditScreen() {
  const { filter, search } = filtersIn(['action', 'operator', 'target'])
  const page = usePages(`audit${search}`, ({ entries }: AuditPage) => entries)
  const field = (name: string, label: string, hint: string) => (
    <Field label={label} hint={hint}>
      <input
        key={filter[name]}
        defaultValue={filter[name]}
        onChange={(event) =>
          go(linkTo('audit', { ...filter, [name]: event.currentTarget.value.trim() }))
        }
      />
    </Field>
  )
  return (
    <>
      <Title actions={<Action run={() => download(`audit/export${search}`)}>Export</Action>}>
        Audit
      </Title>
      <p class="print-only">{describeFilter(filter)}</p>
      <Filters count={Object.keys(filter).length}>
        {field('action', 'Action', 'For example settings.publish')}
        {field('operator', 'Operator', 'The name of an operator')}
        {field('target', 'Target', 'An id or a name')}
      </Filters>
      <Loaded from={page.first}>
        {() => (
          <>
            <List items={page.rows} empty="No entries match.">
              {(entry) => <AuditEntry key={entry.id} entry={entry} />}
            </List>
            {page.next !== null && <Action run={page.loadMore}>Load more</Action>}
          </>
        )}
      </Loaded>
    </>
  )
}

/** Heads a printed extract. */
function describeFilter(filter: Record<string, string>): string {
  const parts = Object.entries(filter).map(([name, text]) => `${name} ${text}`)
  return parts.length === 0
    ? 'Extract of the audit log: all entries'
    : `Extract of the audit log: ${parts.join(', ')}`
}

function AuditEntry({ entry }: { entry: Entry }) {
  const { at, operator, origin, action, target, before, after, requestId } = entry
  return (
    <li>
      <strong>{action}</strong>
      {target && <span class="mono">{target}</span>}
      <Badge>{operator ?? `Command line, user ${origin}`}</Badge>
      <span class="soft">
        {operator && <>{origin}, </>}
        <Time at={at} />
      </span>
      {(before || after) && (
        <details>
          <summary>Changes</summary>
          <Changes changes={changesOf(entry)} />
          {requestId && <p class="soft">Request {requestId}</p>}
        </details>
      )}
    </li>
  )
}

function changesOf({ before, after }: Entry) {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...names].map((path) => ({
    path,
    before: before?.[path] ?? null,
    after: after?.[path] ?? null,
  }))
}
