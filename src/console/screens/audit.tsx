import { download } from '../api.ts'
import { go, linkTo, query } from '../router.ts'
import type { AuditPage } from '../types.ts'
import { BeforeAfter } from '../ui/changes.tsx'
import { Act, At, Badge, Empty, Field, Title } from '../ui/parts.tsx'
import { Loaded, usePages } from '../ui/remote.tsx'

const NAMES = ['action', 'operator', 'target']

/** Who did what, and what was there before. */
export function AuditScreen() {
  const filter = Object.fromEntries(NAMES.map((name) => [name, query.value.get(name) ?? '']))
  const given = Object.entries(filter).filter(([, value]) => value !== '')
  const text = new URLSearchParams(given).toString()
  const path = text === '' ? 'audit' : `audit?${text}`
  const { first, rows, next, loadMore } = usePages(path, (page: AuditPage) => page.entries)
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
  const exporting = () => download(`audit/export${text === '' ? '' : `?${text}`}`)
  return (
    <>
      <Title actions={<Act act={exporting}>Export</Act>}>Audit</Title>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        {field('action', 'What', 'Such as settings.publish')}
        {field('operator', 'Who', 'The name of an operator')}
        {field('target', 'On what', 'An id or a name')}
      </form>
      <Loaded from={first}>
        {() => (
          <>
            {rows.length === 0 && <Empty>Nothing was done that is like that.</Empty>}
            {rows.length > 0 && (
              <ol class="list">
                {rows.map(
                  ({ id, at, operator, origin, action, target, before, after, requestId }) => (
                    <li key={id}>
                      <strong>{action}</strong>
                      {target && <span class="mono">{target}</span>}
                      <Badge>{operator ?? `command by ${origin}`}</Badge>
                      <span class="soft">
                        {operator && <>{origin}, </>}
                        <At at={at} />
                      </span>
                      {(before || after) && (
                        <details>
                          <summary>what changed</summary>
                          <BeforeAfter before={before} after={after} />
                          {requestId && <p class="soft">request {requestId}</p>}
                        </details>
                      )}
                    </li>
                  ),
                )}
              </ol>
            )}
            {next !== null && <Act act={loadMore}>More</Act>}
          </>
        )}
      </Loaded>
    </>
  )
}
