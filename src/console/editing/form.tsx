import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { languageName } from '../../lib/text/rule-labels.ts'
import { plural } from '../format.ts'
import { Checkbox, ChoiceField, Field, NumberField, TextField, VERBATIM } from '../ui/fields.tsx'
import type { Schema } from '../ui/schema-fields.tsx'
import { fieldHint, fieldLabel, keyboardFor, suggestionsFor } from './field-labels.ts'
import { Group } from './group.tsx'

type FieldsProps = {
  schema: Schema
  /** The path of the object in the server's errors. */
  path: string
  value: Record<string, unknown>
  onChange: (value: Record<string, unknown>) => void
  languages: string[]
  /** Whether the only language needs no name, because it was chosen above. */
  hidesLanguage?: boolean
  hidden?: string[]
  groups?: FieldGroups
  below?: Below | undefined
}

/** Groups of fields by their names, in the order of the form. Ungrouped fields are above them. */
export type FieldGroups = [title: string, names: RegExp, isOpen?: boolean][]

/** Shown below the control of a single value. */
type Below = (path: string, value: unknown) => ComponentChildren

export function Fields(props: FieldsProps) {
  const { schema, path, value, onChange, languages, hidesLanguage, below } = props
  const { hidden = [], groups = [] } = props
  const entries = Object.entries(schema.properties ?? {}).filter(([name]) => !hidden.includes(name))
  const isWide = ([, part]: [string, Schema]) =>
    part.type === 'object' || part.type === 'array' || isLocalText(part)
  const control = ([name, part]: [string, Schema]) => (
    <Control
      key={name}
      name={name}
      path={`${path}.${name}`}
      schema={part}
      value={value[name]}
      languages={languages}
      hidesLanguage={hidesLanguage}
      onChange={(next) => onChange({ ...value, [name]: next })}
      below={below}
    />
  )
  const arrange = (some: [string, Schema][]) => {
    const single = some.filter((entry) => !isWide(entry))
    const wide = some.filter(isWide)
    return (
      <>
        {wide.filter(isTitle).map(control)}
        {single.length > 0 && <div class="grid">{single.map(control)}</div>}
        {wide.filter((entry) => !isTitle(entry)).map(control)}
      </>
    )
  }
  const isGrouped = ([name]: [string, Schema]) => groups.some(([, names]) => names.test(name))
  return (
    <>
      {arrange(entries.filter((entry) => !isGrouped(entry)))}
      {groups.map(([title, names, isOpen]) => {
        const inside = entries.filter(([name]) => names.test(name))
        const set = inside.filter(([name]) => value[name] !== undefined)
        return (
          <Group
            key={title}
            title={title}
            summary={`${set.length} set`}
            {...(isOpen !== undefined && { isOpen })}
          >
            {arrange(inside)}
          </Group>
        )
      })}
    </>
  )
}

/** The field that names the record comes first. */
function isTitle([name]: [string, Schema]): boolean {
  return /^(name|question)$/.test(name)
}

type ControlProps = {
  name: string
  path: string
  schema: Schema
  value: unknown
  onChange: (value: unknown) => void
  languages: string[]
  hidesLanguage?: boolean | undefined
  below?: Below | undefined
}

function Control(props: ControlProps) {
  const { name, path, schema, value, onChange, languages, below } = props
  const label = fieldLabel(name)
  if (isLocalText(schema)) return <LocalTextField {...props} />
  if (schema.type === 'array') return <ListField {...props} />
  if (schema.type === 'object') {
    return (
      <Group title={label}>
        <Fields
          schema={schema}
          path={path}
          value={(value ?? {}) as Record<string, unknown>}
          onChange={onChange}
          languages={languages}
          below={below}
        />
      </Group>
    )
  }
  if (below === undefined) return <SingleControl {...props} />
  return (
    <div class="ruled">
      <SingleControl {...props} />
      {below(path, value)}
    </div>
  )
}

function SingleControl({ name, path, schema, value, onChange }: ControlProps) {
  const label = fieldLabel(name)
  const hint = fieldHint(name, schema.description)
  if (schema.type === 'boolean') {
    const statement = hint?.replace(/^whether /, '')
    return <Checkbox label={label} hint={statement} checked={value === true} onChange={onChange} />
  }
  const options = suggestionsFor(name)
  if (options.length > 0) {
    const text = String(value ?? '')
    return (
      <ChoiceField label={label} path={path} value={text} options={options} onChange={onChange} />
    )
  }
  const field = { label, hint, path, inputMode: keyboardFor(name, schema.type) }
  if (schema.type === 'integer' || schema.type === 'number')
    return <NumberField {...field} value={value} onChange={onChange} />
  return <TextField {...field} {...VERBATIM} value={String(value ?? '')} onChange={onChange} />
}

type LocalTextProps = ControlProps & {
  /** Whether the text is a line of a list. */
  isLine?: boolean
}

/** A text in several languages, one column each; missing translations are marked. */
function LocalTextField(props: LocalTextProps) {
  const { name, path, schema, value, onChange, languages, hidesLanguage, isLine = false } = props
  const texts = toTexts(value)
  const set = (language: string, text: string) => {
    const { [language]: _old, ...others } = texts
    onChange(text === '' ? others : { ...others, [language]: text })
  }
  // Decided once: replacing the element during editing would lose the focus.
  const [isLong] = useState(
    () =>
      Object.values(texts).some((text) => text.length > 60) ||
      /answer|description|text|footer/.test(name),
  )
  const fields = languages.map((language, at) => {
    const isMissing = !texts[language] && Object.values(texts).some(Boolean)
    const input = {
      value: texts[language] ?? '',
      lang: language,
      dir: 'auto' as const,
      onInput: (event: { currentTarget: { value: string } }) =>
        set(language, event.currentTarget.value),
    }
    return (
      <Field
        key={language}
        label={hidesLanguage ? fieldLabel(name) : languageName(language)}
        hint={isMissing ? 'Missing' : undefined}
        path={`${path}.${language}`}
        parentPath={at === 0 ? path : undefined}
      >
        {isLong ? <textarea {...input} /> : <input {...input} />}
      </Field>
    )
  })
  if (hidesLanguage) return <>{fields}</>
  return (
    <Group
      title={fieldLabel(name)}
      summary={texts['en'] ?? ''}
      {...(isLine ? {} : { isOpen: /^(name|question|answer)$/.test(name) })}
    >
      {schema.description && <small class="soft">{schema.description}</small>}
      <div class="grid">{fields}</div>
    </Group>
  )
}

function ListField({ name, path, schema, value, onChange, languages }: ControlProps) {
  const items = (value ?? []) as unknown[]
  const item = schema.items ?? {}
  if (!isLocalText(item)) {
    return (
      <Field
        label={fieldLabel(name)}
        hint={`${schema.description ?? ''} (one per line)`}
        path={path}
      >
        <textarea
          value={items.join('\n')}
          onInput={(event) => {
            const { value: text } = event.currentTarget
            onChange(text === '' ? [] : text.split('\n'))
          }}
        />
      </Field>
    )
  }
  return (
    <Group title={fieldLabel(name)} summary={plural(items.length, 'line')} isOpen={false}>
      {schema.description && <small class="soft">{schema.description}</small>}
      {items.map((text, at) => (
        <div key={at}>
          <LocalTextField
            name={`line ${at + 1}`}
            isLine
            path={`${path}.${at}`}
            schema={item}
            value={text}
            languages={languages}
            onChange={(next) => onChange(items.with(at, next))}
          />
          <button type="button" class="quiet" onClick={() => onChange(items.toSpliced(at, 1))}>
            Remove line {at + 1}
          </button>
        </div>
      ))}
      <div class="actions">
        <button type="button" onClick={() => onChange([...items, {}])}>
          Add line
        </button>
      </div>
    </Group>
  )
}

/** English, and every other language in which a value has texts. */
export function listTextLanguages(value: unknown, schema: Schema): string[] {
  const languages = listLocalTexts(value, schema).flatMap((texts) => Object.keys(texts))
  return [...new Set(['en', ...languages])]
}

/** All texts in a value, each by language. */
export function listLocalTexts(value: unknown, schema: Schema): Record<string, string>[] {
  if (isLocalText(schema)) return [toTexts(value)]
  if (Array.isArray(value)) return value.flatMap((item) => listLocalTexts(item, schema.items ?? {}))
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
    listLocalTexts((value as Record<string, unknown> | undefined)?.[name], part),
  )
}

export function toTexts(value: unknown): Record<string, string> {
  if (typeof value === 'string') return value === '' ? {} : { en: value }
  return (value ?? {}) as Record<string, string>
}

export function isLocalText({ anyOf }: Schema): boolean {
  return anyOf?.some(({ patternProperties }) => patternProperties !== undefined) ?? false
}

/** An object with an empty value for every required field. */
export function blank(schema: Schema): unknown {
  if (isLocalText(schema)) return {}
  if (schema.type === 'array') return []
  if (schema.type === 'boolean') return false
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0
  if (schema.type !== 'object') return ''
  const names = schema.required ?? []
  return Object.fromEntries(names.map((name) => [name, blank(schema.properties?.[name] ?? {})]))
}
