import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { languageName } from '../../lib/text/rule-labels.ts'
import { LANGUAGES, parseCodes } from '../settings/codes-field.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Badge, Empty } from '../ui/parts.tsx'
import { problemsAt, useProblems } from '../ui/problems.tsx'
import { blank, Fields, listLocalTexts, listTextLanguages, type Schema } from './form.tsx'

type Entry = Record<string, unknown>
type RecordsProps = {
  records: Entry[]
  onChange: (records: Entry[]) => void
  schema: Schema
  /** The path by which the server names the list in errors. */
  path: string
  /** Such as `plan`. */
  noun: string
  /** Such as `Archive`. */
  removeVerb: string
  nameOf: (record: Entry) => string
  /** Distinguishes records of the same name. */
  codeOf?: (record: Entry) => string
  /** What the list shows beside the name. */
  summaryOf?: (record: Entry) => string
  hidden?: (record: Entry) => string[]
  more?: (record: Entry, path: string, onChange: (next: Entry) => void) => ComponentChildren
}

export function Records(props: RecordsProps) {
  const {
    records,
    onChange,
    schema,
    path,
    noun,
    removeVerb,
    nameOf,
    codeOf,
    summaryOf,
    hidden = () => [],
    more,
  } = props
  const [added, setAdded] = useState<string[]>([])
  const [open, setOpen] = useState<number | null>(null)
  const [invalid] = problemsAt(useProblems(), path)
  useLayoutEffect(() => {
    const at = Number(invalid?.path.slice(path.length + 1).split('.')[0])
    if (Number.isInteger(at)) setOpen(at)
  }, [invalid])
  // The column of a language stays while its only text is replaced.
  const shown = useRef<string[]>([])
  shown.current = [
    ...new Set([...listTextLanguages(records, { items: schema }), ...shown.current, ...added]),
  ]
  const languages = shown.current
  const list = useRef<HTMLOListElement>(null)
  /** The place of a moved record: the focus follows it, so that a second press does not move another one. */
  const movedTo = useRef<number | null>(null)
  useLayoutEffect(() => {
    if (movedTo.current === null) return
    list.current?.children[movedTo.current]?.querySelector('button')?.focus()
    movedTo.current = null
  })
  const move = (from: number, to: number) => {
    movedTo.current = to
    onChange(records.toSpliced(from, 1).toSpliced(to, 0, records[from] as Entry))
    setOpen(null)
  }
  const moveButton = (name: string, from: number, to: number) => (
    <button
      type="button"
      class="quiet"
      disabled={to < 0 || to >= records.length}
      aria-label={`Move ${name} ${to < from ? 'up' : 'down'}`}
      onClick={() => move(from, to)}
    >
      {to < from ? '↑' : '↓'}
    </button>
  )
  return (
    <>
      {records.length === 0 && <Empty>No {noun}s yet.</Empty>}
      <ol ref={list} class="list">
        {records.map((record, at) => {
          const missing = listMissing(record, schema, languages)
          const title = nameOf(record) || `New ${noun}`
          const code = codeOf?.(record) ?? ''
          const name = code === '' ? title : `${title} (${code})`
          return (
            <li key={at}>
              <span>
                <strong>{title}</strong> {code !== '' && <code class="soft">{code}</code>}
              </span>
              {summaryOf && <span class="soft">{summaryOf(record)}</span>}
              {missing.length > 0 && (
                <Badge tone="warn">Missing: {missing.map(languageName).join(', ')}</Badge>
              )}
              <span class="actions">
                <button
                  type="button"
                  aria-expanded={open === at}
                  aria-label={`${open === at ? 'Close' : 'Edit'} ${name}`}
                  onClick={() => setOpen(open === at ? null : at)}
                >
                  {open === at ? 'Close' : 'Edit'}
                </button>
                {moveButton(name, at, at - 1)}
                {moveButton(name, at, at + 1)}
              </span>
              {open === at && (
                <fieldset>
                  <legend class="unseen">{name}</legend>
                  <Fields
                    schema={schema}
                    path={`${path}.${at}`}
                    value={record}
                    hidden={hidden(record)}
                    languages={languages}
                    onChange={(next) => onChange(records.with(at, next))}
                  />
                  {more?.(record, `${path}.${at}`, (next) => onChange(records.with(at, next)))}
                  <div class="actions">
                    <Confirm
                      label={`${removeVerb} ${name}`}
                      done={`Publish to remove ${name}.`}
                      run={async () => {
                        onChange(records.toSpliced(at, 1))
                        setOpen(null)
                      }}
                    >
                      <p>Apps keep showing it until you publish. The history keeps it.</p>
                    </Confirm>
                  </div>
                </fieldset>
              )}
            </li>
          )
        })}
      </ol>
      <div class="actions">
        <button
          type="button"
          onClick={() => {
            onChange([...records, blank(schema) as Entry])
            setOpen(records.length)
          }}
        >
          Add {noun}
        </button>
      </div>
      <Languages languages={languages} onAdd={(tag) => setAdded([...added, tag])} />
    </>
  )
}

/** The languages with a missing translation. A text that is empty in every language needs none. */
function listMissing(record: Entry, schema: Schema, languages: string[]): string[] {
  const texts = listLocalTexts(record, schema).filter((text) => Object.keys(text).length > 0)
  return languages.filter((language) => texts.some((text) => !text[language]))
}

type LanguagesProps = { languages: string[]; onAdd: (tag: string) => void }

export function Languages({ languages, onAdd }: LanguagesProps) {
  const [tag, setTag] = useState('')
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    const [entered] = parseCodes(tag, LANGUAGES)
    if (entered !== undefined) onAdd(entered)
    setTag('')
  }
  return (
    <form class="add-language" onSubmit={add}>
      <p class="soft">Languages: {languages.map(languageName).join(', ')}</p>
      <TextField
        label="New language"
        suggestions={LANGUAGES.codes().map((code) => [code, LANGUAGES.nameOf(code)])}
        value={tag}
        onChange={setTag}
        autocapitalize="none"
      />
      <button type="submit">Add language</button>
    </form>
  )
}
