import { useState } from 'preact/hooks'
import type { Schema } from '../types.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Badge, Empty } from '../ui/parts.tsx'
import { blank, Fields, Languages, languagesIn } from './form.tsx'

type Entry = Record<string, unknown>
type RecordsProps = {
  records: Entry[]
  onChange: (records: Entry[]) => void
  schema: Schema
  /** What one of them is called: `plan`. */
  noun: string
  /** What taking one away is called: `Archive`. */
  removal: string
  nameOf: (record: Entry) => string
  hidden?: string[]
  isReadOnly: boolean
}

/** A list of things with an order: added, edited, moved and taken away. */
export function Records(props: RecordsProps) {
  const { records, onChange, schema, noun, removal, nameOf, hidden = [], isReadOnly } = props
  const [added, setAdded] = useState<string[]>([])
  const [open, setOpen] = useState<number | null>(null)
  const languages = [...new Set([...languagesIn(records, { items: schema }), ...added])]
  const move = (from: number, to: number) => {
    const next = records.toSpliced(from, 1)
    onChange(next.toSpliced(to, 0, records[from] as Entry))
    setOpen(null)
  }
  return (
    <>
      <Languages languages={languages} onAdd={(tag) => setAdded([...added, tag])} />
      {records.length === 0 && <Empty>There is no {noun} yet.</Empty>}
      <ol class="list">
        {records.map((record, at) => {
          const missing = missingIn(record, schema, languages)
          const name = nameOf(record) || `new ${noun}`
          return (
            <li key={at}>
              <strong>{name}</strong>
              {missing.length > 0 && <Badge tone="warn">no {missing.join(', ')}</Badge>}
              <span class="actions">
                <button
                  type="button"
                  aria-expanded={open === at}
                  onClick={() => setOpen(open === at ? null : at)}
                >
                  {open === at ? 'Close' : 'Edit'} {name}
                </button>
                {!isReadOnly && (
                  <>
                    <button
                      type="button"
                      class="quiet"
                      disabled={at === 0}
                      aria-label={`Move ${name} up`}
                      onClick={() => move(at, at - 1)}
                    >
                      ↑
                    </button>
                    <button
                      type="button"
                      class="quiet"
                      disabled={at === records.length - 1}
                      aria-label={`Move ${name} down`}
                      onClick={() => move(at, at + 1)}
                    >
                      ↓
                    </button>
                  </>
                )}
              </span>
              {open === at && (
                <fieldset disabled={isReadOnly}>
                  <legend>{name}</legend>
                  <Fields
                    schema={schema}
                    value={record}
                    hidden={hidden}
                    languages={languages}
                    onChange={(next) => onChange(records.with(at, next))}
                  />
                  <div class="actions">
                    <Confirm
                      label={`${removal} ${name}`}
                      done={`${name} goes when you publish.`}
                      act={async () => {
                        onChange(records.toSpliced(at, 1))
                        setOpen(null)
                      }}
                    >
                      <p>It stays in the history. Apps see it until you publish.</p>
                    </Confirm>
                  </div>
                </fieldset>
              )}
            </li>
          )
        })}
      </ol>
      {!isReadOnly && (
        <div class="actions">
          <button
            type="button"
            onClick={() => {
              onChange([...records, blank(schema) as Entry])
              setOpen(records.length)
            }}
          >
            Add a {noun}
          </button>
        </div>
      )}
    </>
  )
}

/** The languages that some text of a record has no words in. */
function missingIn(record: Entry, schema: Schema, languages: string[]): string[] {
  const texts = textsIn(record, schema)
  return languages.filter((language) => texts.some((text) => !text[language]))
}

/** Every text of a value that is written in languages. */
function textsIn(value: unknown, schema: Schema): Entry[] {
  if (value === null || typeof value !== 'object') return []
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, schema.items ?? {}))
  if (schema.anyOf) return Object.keys(value).length > 0 ? [value as Entry] : []
  const parts = Object.entries(schema.properties ?? {})
  return parts.flatMap(([name, part]) => textsIn((value as Entry)[name], part))
}
