import { useState } from 'preact/hooks'
import { words } from '../format.ts'
import type { Schema } from '../types.ts'
import { Field } from '../ui/parts.tsx'

type FieldsProps = {
  schema: Schema
  value: Record<string, unknown>
  onChange: (value: Record<string, unknown>) => void
  languages: string[]
  /** Fields that are not shown. */
  hidden?: string[]
}

/** A form for an object, made from its schema. */
export function Fields({ schema, value, onChange, languages, hidden = [] }: FieldsProps) {
  const entries = Object.entries(schema.properties ?? {}).filter(([name]) => !hidden.includes(name))
  const isWide = ([, part]: [string, Schema]) =>
    part.type === 'object' || isLocal(part) || isList(part)
  const control = ([name, part]: [string, Schema]) => (
    <Control
      key={name}
      name={name}
      schema={part}
      value={value[name]}
      languages={languages}
      onChange={(next) => onChange({ ...value, [name]: next })}
    />
  )
  return (
    <>
      <div class="grid">{entries.filter((entry) => !isWide(entry)).map(control)}</div>
      {entries.filter(isWide).map(control)}
    </>
  )
}

type ControlProps = {
  name: string
  schema: Schema
  value: unknown
  onChange: (value: unknown) => void
  languages: string[]
}

function Control(props: ControlProps) {
  const { name, schema, value, onChange, languages } = props
  const label = words(name)
  if (isLocal(schema)) return <LocalField {...props} />
  if (isList(schema)) return <ListField {...props} />
  if (schema.type === 'object') {
    return (
      <fieldset>
        <legend>{label}</legend>
        <Fields
          schema={schema}
          value={(value ?? {}) as Record<string, unknown>}
          onChange={onChange}
          languages={languages}
        />
      </fieldset>
    )
  }
  if (schema.type === 'boolean') {
    return (
      <label class="field row">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
        {schema.description && <small>{schema.description}</small>}
      </label>
    )
  }
  const isNumber = schema.type === 'integer' || schema.type === 'number'
  return (
    <Field label={label} hint={schema.description}>
      <input
        inputMode={isNumber ? 'decimal' : 'text'}
        value={String(value ?? '')}
        onInput={(event) => {
          const { value: text } = event.currentTarget
          onChange(isNumber ? numberIn(text) : text)
        }}
      />
    </Field>
  )
}

/** A text in several languages, one column each; a missing one is marked. */
function LocalField({ name, schema, value, onChange, languages }: ControlProps) {
  const texts = textsOf(value)
  const set = (language: string, text: string) => {
    const { [language]: _old, ...others } = texts
    onChange(text === '' ? others : { ...others, [language]: text })
  }
  const isLong =
    Object.values(texts).some((text) => text.length > 60) || /answer|description/.test(name)
  return (
    <fieldset>
      <legend>{words(name)}</legend>
      {schema.description && <small class="soft">{schema.description}</small>}
      <div class="grid">
        {languages.map((language) => {
          const isMissing = !texts[language] && Object.values(texts).some(Boolean)
          const props = {
            value: texts[language] ?? '',
            lang: language,
            onInput: (event: { currentTarget: { value: string } }) =>
              set(language, event.currentTarget.value),
          }
          return (
            <Field key={language} label={language} hint={isMissing ? 'missing' : undefined}>
              {isLong ? <textarea {...props} /> : <input {...props} />}
            </Field>
          )
        })}
      </div>
    </fieldset>
  )
}

function ListField({ name, schema, value, onChange, languages }: ControlProps) {
  const items = (value ?? []) as unknown[]
  const item = schema.items ?? {}
  const replace = (at: number, next: unknown) => onChange(items.with(at, next))
  if (!isLocal(item)) {
    return (
      <Field label={words(name)} hint={`${schema.description ?? ''} (one a line)`}>
        <textarea
          value={items.join('\n')}
          onInput={(event) => {
            const lines = event.currentTarget.value.split('\n')
            onChange(lines.length === 1 && lines[0] === '' ? [] : lines)
          }}
        />
      </Field>
    )
  }
  return (
    <fieldset>
      <legend>{words(name)}</legend>
      {schema.description && <small class="soft">{schema.description}</small>}
      {items.map((one, at) => (
        <div key={at}>
          <Control
            name={`line ${at + 1}`}
            schema={item}
            value={one}
            languages={languages}
            onChange={(next) => replace(at, next)}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => onChange(items.filter((_, other) => other !== at))}
          >
            Remove line {at + 1}
          </button>
        </div>
      ))}
      <div class="actions">
        <button type="button" onClick={() => onChange([...items, {}])}>
          Add a line
        </button>
      </div>
    </fieldset>
  )
}

/** Says which languages texts are edited in, and adds one. */
export function Languages({
  languages,
  onAdd,
}: {
  languages: string[]
  onAdd: (tag: string) => void
}) {
  const [tag, setTag] = useState('')
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    if (tag.trim() !== '') onAdd(tag.trim())
    setTag('')
  }
  return (
    <form class="actions" onSubmit={add}>
      <span class="soft">Languages: {languages.join(', ')}</span>
      <input
        value={tag}
        placeholder="pt-BR"
        aria-label="Another language"
        style={{ width: '7rem' }}
        onInput={(event) => setTag(event.currentTarget.value)}
      />
      <button type="submit">Add a language</button>
    </form>
  )
}

/** A number as it was typed; what is no number stays as it is, for the server to say what is wrong. */
export function numberIn(text: string): number | string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text.trim())
  return isNumber ? Number(text) : text
}

/** The languages that the texts of a value have; English where there are none. */
export function languagesIn(value: unknown, schema: Schema): string[] {
  const found = new Set<string>(['en'])
  collect(value, schema, found)
  return [...found]
}

function collect(value: unknown, schema: Schema, found: Set<string>) {
  if (isLocal(schema)) for (const language of Object.keys(textsOf(value))) found.add(language)
  else if (schema.items && Array.isArray(value))
    for (const item of value) collect(item, schema.items, found)
  else if (schema.properties && value)
    for (const [name, part] of Object.entries(schema.properties))
      collect((value as Record<string, unknown>)[name], part, found)
}

function textsOf(value: unknown): Record<string, string> {
  if (typeof value === 'string') return value === '' ? {} : { en: value }
  return (value ?? {}) as Record<string, string>
}

function isLocal({ anyOf }: Schema): boolean {
  return anyOf?.some(({ patternProperties }) => patternProperties !== undefined) ?? false
}

function isList({ type }: Schema): boolean {
  return type === 'array'
}

/** A new object with a value for every field of a schema that must be there. */
export function blank(schema: Schema): unknown {
  if (isLocal(schema)) return {}
  if (schema.type === 'array') return []
  if (schema.type === 'boolean') return false
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0
  if (schema.type !== 'object') return ''
  const names = schema.required ?? []
  return Object.fromEntries(names.map((name) => [name, blank(schema.properties?.[name] ?? {})]))
}
