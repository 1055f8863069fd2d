import type { ComponentChildren } from 'preact'
import { words } from '../format.ts'
import { Checkbox, Field, parseOptionalNumber, SelectField, TextField } from './fields.tsx'

/** How a form shows a member. */
type FieldTexts = {
  /** By default its name in words. */
  label?: string
  hint?: string
  placeholder?: string
  /** The height of a text with several lines. */
  rows?: number
  /** Whether the browser checks the spelling. */
  isProse?: boolean
  /** The meaning of each choice. */
  meanings?: Record<string, string>
}

/** The subset of JSON Schema that the forms need, as the server sends it. */
export type Schema = {
  type?: string
  description?: string
  anyOf?: Schema[]
  const?: string
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: string[]
  minimum?: number
  maxLength?: number
  field?: FieldTexts
}

export type MemberList = { name: string; schema: Schema; isRequired: boolean }[]

/** The entered values, by member name. Lists of words and numbers are text while they are edited. */
export type Values = Record<string, unknown>

/** Controls of members, instead of those that the schema suggests. */
export type Controls = Record<
  string,
  (value: unknown, onChange: (value: unknown) => void) => ComponentChildren
>

type FieldsProps = {
  members: MemberList
  values: Values
  onChange: (values: Values) => void
  controls?: Controls
}

/** A control for each member of an action's input. */
export function MemberFields({ members, values, onChange, controls = {} }: FieldsProps) {
  return (
    <>
      {members.map(({ name, schema }) => {
        const props = {
          value: values[name],
          onChange: (value: unknown) => onChange({ ...values, [name]: value }),
        }
        const custom = controls[name]?.(props.value, props.onChange)
        return custom ?? <MemberField key={name} name={name} schema={schema} {...props} />
      })}
    </>
  )
}

type MemberProps = {
  name: string
  schema: Schema
  value: unknown
  onChange: (value: unknown) => void
}

function MemberField({ name, schema, value, onChange }: MemberProps) {
  const { maxLength, field = {} } = schema
  const { label = words(name), hint, placeholder, rows, isProse = false, meanings = {} } = field
  const choices = choicesIn(schema.items ?? schema)
  if (isBoolean(schema)) {
    return <Checkbox label={label} hint={hint} checked={value === true} onChange={onChange} />
  }
  if (choices.length > 0 && schema.items) {
    const chosen = value as string[]
    return (
      <fieldset class="grid">
        <legend>{label}</legend>
        {choices.map((choice) => (
          <Checkbox
            key={choice}
            label={choice}
            hint={meanings[choice]}
            checked={chosen.includes(choice)}
            onChange={(isOn) =>
              onChange([...chosen.filter((other) => other !== choice), ...(isOn ? [choice] : [])])
            }
          />
        ))}
      </fieldset>
    )
  }
  if (choices.length > 0) {
    const options = choices.map((choice): [string, string] => [choice, words(choice)])
    return (
      <SelectField
        label={label}
        hint={hint}
        path={name}
        value={`${value}`}
        options={options}
        onChange={onChange}
      />
    )
  }
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '')
  if (rows !== undefined) {
    return (
      <Field label={label} hint={hint} path={name}>
        <textarea
          value={text}
          maxLength={maxLength}
          rows={rows}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </Field>
    )
  }
  return (
    <TextField
      label={label}
      hint={hint}
      path={name}
      placeholder={placeholder}
      value={text}
      maxLength={maxLength}
      autocomplete="off"
      {...(isNumber(schema) && { inputMode: 'numeric' })}
      {...(/url$/i.test(name) && { inputMode: 'url' })}
      {...(!isProse && { spellcheck: false, autocapitalize: 'none' })}
      onChange={onChange}
    />
  )
}

/** Whether the field takes a whole line. */
export function isWide({ items, field = {} }: Schema): boolean {
  return field.rows !== undefined || (items !== undefined && choicesIn(items).length > 0)
}

function emptyValue(schema: Schema): unknown {
  if (isBoolean(schema)) return false
  if (schema.items && choicesIn(schema.items).length > 0) return []
  return choicesIn(schema)[0] ?? ''
}

/** The members with these names. */
export function pickMembers(schema: Schema, names: string[]): MemberList {
  const { properties = {}, required = [] } = schema
  return names.map((name) => ({
    name,
    schema: properties[name] ?? {},
    isRequired: required.includes(name),
  }))
}

export function emptyValues(members: MemberList): Values {
  return Object.fromEntries(members.map(({ name, schema }) => [name, emptyValue(schema)]))
}

/** Whether every required member has been entered. */
export function isComplete(members: MemberList, values: Values): boolean {
  return members.every(({ name, schema, isRequired }) => {
    const value = values[name]
    if (Array.isArray(value)) return !isRequired || value.length > 0
    const mayBeEmpty = !isRequired || schema.items !== undefined || isNullable(schema)
    return mayBeEmpty || String(value).trim() !== ''
  })
}

/** Converts entered values to an action's input. Leaves out optional members that are empty and cannot be null. */
export function toInput(members: MemberList, values: Values): Values {
  const given = members.filter(
    ({ name, schema, isRequired }) => isRequired || isNullable(schema) || values[name] !== '',
  )
  return Object.fromEntries(given.map(({ name, schema }) => [name, parse(schema, values[name])]))
}

function parse(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (schema.items) return value.split(/[\s,]+/).filter(Boolean)
  return isNumber(schema) ? parseOptionalNumber(value) : value.trim()
}

function isNumber({ type = '', anyOf = [] }: Schema): boolean {
  return /^(integer|number)$/.test(type) || anyOf.some(isNumber)
}

function isBoolean({ type, anyOf = [] }: Schema): boolean {
  return type === 'boolean' || anyOf.some(isBoolean)
}

function isNullable({ anyOf = [] }: Schema): boolean {
  return anyOf.some(({ type }) => type === 'null')
}

function choicesIn({ anyOf = [] }: Schema): string[] {
  return anyOf.flatMap((one) => one.const ?? [])
}
