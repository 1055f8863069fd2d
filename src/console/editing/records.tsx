import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { languageName } from '../../lib/text/rule-labels.ts'
import { LANGUAGES, parseCodes } from '../settings/codes-field.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { Badge, Empty } from '../ui/parts.tsx'
import type { Schema } from '../ui/schema-fields.tsx'
import { EditableList } from './editable-list.tsx'
import { blank, type FieldGroups, Fields, listLocalTexts, listTextLanguages } from './form.tsx'

type Entry = Record<string, unknown>
type RecordsProps = {
  records: Entry[]
  onChange: (records: Entry[]) => void
  schema: Schema
  /** The path of the list in the server's errors. */
  path: string
  /** Such as `plan`. */
  noun: string
  /** Such as `Archive`. */
  removeVerb: string
  nameOf: (record: Entry) => string
  /** Distinguishes records of the same name. */
  codeOf?: (record: Entry) => string
  /** The text beside the name in the list. */
  summaryOf?: (record: Entry) => string
  hidden?: (record: Entry) => string[]
  groups?: FieldGroups
  more?: (record: Entry, path: string, onChange: (next: Entry) => void) => ComponentChildren
}

export function Records(props: RecordsProps) {
  const { records, schema, path, noun, removeVerb, codeOf, summaryOf } = props
  const { hidden = () => [], groups = [], more } = props
  const [added, setAdded] = useState<string[]>([])
  // A language keeps its column while its only text is being replaced.
  const shown = useRef<string[]>([])
  shown.current = [
    ...new Set([...listTextLanguages(records, { items: schema }), ...shown.current, ...added]),
  ]
  const languages = shown.current
  const titleOf = (record: Entry) => props.nameOf(record) || `New ${noun}`
  const nameOf = (record: Entry) => {
    const code = codeOf?.(record)
    return code ? `${titleOf(record)} (${code})` : titleOf(record)
  }
  return (
    <>
      {records.length === 0 && <Empty>No {noun}s yet.</Empty>}
      <EditableList
        items={records}
        onChange={props.onChange}
        path={path}
        class="records"
        nameOf={nameOf}
        summaryOf={(record) => {
          const missing = listMissing(record, schema, languages)
          return (
            <>
              <span>
                <strong>{titleOf(record)}</strong>{' '}
                {codeOf?.(record) && <code class="soft">{codeOf(record)}</code>}
              </span>
              {summaryOf && <span class="soft">{summaryOf(record)}</span>}
              {missing.length > 0 && (
                <Badge tone="warn">Missing: {missing.map(languageName).join(', ')}</Badge>
              )}
            </>
          )
        }}
        fields={(record, at, onChange) => (
          <>
            <Fields
              schema={schema}
              path={`${path}.${at}`}
              value={record}
              hidden={hidden(record)}
              groups={groups}
              languages={languages}
              onChange={onChange}
            />
            {more?.(record, `${path}.${at}`, onChange)}
          </>
        )}
        removal={(record, _, remove) => (
          <Confirm
            label={`${removeVerb} ${nameOf(record)}`}
            done={`Publish to remove ${nameOf(record)}.`}
            run={async () => remove()}
          >
            <p>Apps show it until you publish. It stays in the history.</p>
          </Confirm>
        )}
      >
        {(add) => (
          <div class="actions">
            <button type="button" class="add" onClick={() => add(blank(schema) as Entry)}>
              Add {noun}
            </button>
          </div>
        )}
      </EditableList>
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
