import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { plural } from '../format.ts'

type Problem = { path: string; message: string }

type Scope = {
  problems: Problem[]
  /** Marks the fields that an error names, and focuses the first. Resolves to the text that no field shows. */
  report: (error: unknown) => Promise<string>
  /** Says how many fields are marked, and what no field shows; empty until an error is reported. */
  summary: string
}

const ProblemsContext = createContext<Scope | null>(null)

type ProblemsProps = {
  /** The error to mark, set by an editor whose request a dialog sends. */
  error?: unknown
  children: ComponentChildren
}

/** A form whose fields show the errors that name them. */
export function Problems({ error, children }: ProblemsProps) {
  const [problems, setProblems] = useState<Problem[]>([])
  const [summary, setSummary] = useState('')
  const element = useRef<HTMLDivElement>(null)
  const report = async (failed: unknown) => {
    setProblems(failed instanceof ApiError ? failed.details : [])
    await new Promise((resolve) => setTimeout(resolve))
    const marked = [
      ...(element.current?.querySelectorAll<HTMLElement>('[aria-invalid=true]') ?? []),
    ]
    marked.forEach(openGroups)
    if (marked[0]) marked[0].focus()
    else element.current?.querySelector('[role=alert]')?.scrollIntoView({ block: 'center' })
    const shown = marked.flatMap(({ dataset }) => dataset['problems']?.split(' ') ?? [])
    const text = describeError(failed, shown)
    setSummary(marked.length === 0 ? text : summarize(marked.length, failed, shown))
    return text
  }
  const forget = ({ target }: Event) => {
    const solved = (target as HTMLElement).dataset['problems']?.split(' ') ?? []
    if (solved.length > 0)
      setProblems((before) => before.filter(({ path }) => !solved.includes(path)))
  }
  useEffect(() => {
    if (error) void report(error)
    else {
      setProblems([])
      setSummary('')
    }
  }, [error])
  return (
    <ProblemsContext.Provider value={{ problems, report, summary }}>
      <div ref={element} class="problems" onInput={forget}>
        {children}
      </div>
    </ProblemsContext.Provider>
  )
}

function openGroups(field: HTMLElement) {
  const group = field.closest<HTMLDetailsElement>('details:not([open])')
  if (group === null) return
  group.open = true
  openGroups(field)
}

export function useProblems(): Scope | null {
  return useContext(ProblemsContext)
}

/** The errors at or below `path`, or at the field's parent: a text has one path for all languages. */
export function problemsAt(scope: Scope | null, path: string | undefined, parent?: string) {
  if (scope === null || path === undefined) return []
  return scope.problems.filter(
    (one) => one.path === path || one.path.startsWith(`${path}.`) || one.path === parent,
  )
}

/** `2 fields need attention.`, and the details that no field shows. */
function summarize(count: number, error: unknown, shown: string[]): string {
  const fields = `${plural(count, 'field')} ${count === 1 ? 'needs' : 'need'} attention.`
  return [fields, ...listDetails(error, shown)].join(' ')
}

function listDetails(error: unknown, shown: string[]): string[] {
  if (!(error instanceof ApiError)) return []
  return error.details
    .filter(({ path, message }) => message !== 'step_up_required' && !shown.includes(path))
    .map(({ path, message }) => `${path} ${message}`)
}

/** A message for an error of any kind, without the details whose paths are in `shown`. */
export function describeError(error: unknown, shown: string[] = []): string {
  if (!(error instanceof ApiError)) return 'Something went wrong. Reload the page.'
  const text = [error.message, ...listDetails(error, shown)].join(' ')
  return error.status >= 500 && error.requestId ? `${text} (request ${error.requestId})` : text
}
