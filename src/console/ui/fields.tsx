import {
  cloneElement,
  type InputHTMLAttributes,
  type PartialInputHTMLAttributes,
  type VNode,
} from 'preact'
import { useId, useState } from 'preact/hooks'
import { findDirectionControls } from '../direction-controls.ts'
import { problemsAt, useProblems } from './problems.tsx'

/** Attributes of a text that is not prose, such as an id. */
export const VERBATIM = { autocomplete: 'off', autocapitalize: 'none', spellcheck: false } as const

type FieldProps = {
  label: string
  hint?: string | undefined
  warning?: string | undefined
  /** The path of the field in the server's errors. */
  path?: string | undefined
  /** A path that names this field and others. */
  parentPath?: string | undefined
  children: VNode
}

export function Field({ label, hint, warning, path, parentPath, children }: FieldProps) {
  const id = useId()
  const problems = problemsAt(useProblems(), path, parentPath)
  const { value = '' } = children.props as { value?: unknown }
  const controls = typeof value === 'string' ? findDirectionControls(value) : []
  const direction = `Contains ${controls.join(', ')}. Such characters change the text direction.`
  const notes = [
    { id: `${id}hint`, text: hint, tone: '' },
    { id: `${id}warning`, text: warning, tone: 'warn' },
    ...problems.map(({ message }, at) => ({
      id: `${id}error${at}`,
      text: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
      tone: 'bad',
    })),
    { id: `${id}controls`, text: controls.length > 0 && direction, tone: 'warn' },
  ].filter(({ text }) => text)
  const control = cloneElement(children as VNode<Record<string, unknown>>, {
    id,
    'aria-describedby': notes.length > 0 ? notes.map((note) => note.id).join(' ') : undefined,
    'aria-invalid': problems.length > 0 ? 'true' : undefined,
    'data-problems': problems.map((one) => one.path).join(' ') || undefined,
  })
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {control}
      {notes.map((note) => (
        <small key={note.id} id={note.id} class={note.tone}>
          {note.text}
        </small>
      ))}
    </div>
  )
}

type TextFieldProps = Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'label' | 'onChange'> & {
  label: string
  hint?: string | undefined
  path?: string | undefined
  type?: 'text' | 'password' | 'number'
  /** Common values; others can be entered too. */
  suggestions?: [value: string, name: string][]
  onChange: (text: string) => void
}

export function TextField(props: TextFieldProps) {
  const { label, hint, path, suggestions = [], onChange, ...input } = props
  const id = useId()
  const list = suggestions.length > 0 ? { list: id, autocomplete: 'off' } : {}
  return (
    <>
      <Field label={label} hint={hint} path={path}>
        <input
          {...({ ...list, ...input } as InputHTMLAttributes)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </Field>
      {suggestions.length > 0 && (
        <datalist id={id}>
          {suggestions.map(([value, name]) => (
            <option key={value} value={value} label={name} />
          ))}
        </datalist>
      )}
    </>
  )
}

type NumberFieldProps = Omit<TextFieldProps, 'value' | 'onChange'> & {
  /** A number, other text that was typed, or null or undefined for none. */
  value: unknown
  /** Receives '' for an empty field. */
  onChange: (value: number | string) => void
}

/** Shows a number as it was typed: formatting it again would drop the zeros of 10.05 while they are typed. */
export function NumberField({ value, onChange, ...field }: NumberFieldProps) {
  const [typed, setTyped] = useState('')
  const isTyped = typed !== '' && parseNumber(typed) === value
  return (
    <TextField
      inputMode="decimal"
      {...VERBATIM}
      {...field}
      value={isTyped ? typed : String(value ?? '')}
      onChange={(text) => {
        setTyped(text)
        onChange(parseNumber(text))
      }}
    />
  )
}

/** Parses a number. Other text is returned unchanged, and the server refuses it with a message. */
function parseNumber(text: string): number | string {
  const isNumber = /^-?\d+(\.\d+)?$/.test(text.trim())
  return isNumber ? Number(text) : text.trim()
}

/** Like `parseNumber`; null for an empty field. */
export function parseOptionalNumber(text: string): number | string | null {
  return text.trim() === '' ? null : parseNumber(text)
}

type CheckboxProps = {
  label: string
  hint?: string | undefined
  checked: boolean
  onChange: (checked: boolean) => void
}

export function Checkbox({ label, hint, checked, onChange }: CheckboxProps) {
  return (
    <label class="field row">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
      {hint && <small>{hint}</small>}
    </label>
  )
}

type SelectProps = {
  label: string
  hint?: string | undefined
  value: string
  options: [value: string, name: string][]
  path?: string
  onChange: (value: string) => void
}

export function SelectField({ label, hint, value, options, path, onChange }: SelectProps) {
  return (
    <Field label={label} hint={hint} path={path}>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  )
}

type ChoiceProps = SelectProps & { path: string }

const OTHER = '\0other'

/** A choice of common values, and a text field for any other. */
export function ChoiceField({ label, value, options, path, onChange }: ChoiceProps) {
  const [isOther, setOther] = useState(false)
  const isCommon = options.some(([common]) => common === value)
  return (
    <div class="stack">
      <SelectField
        label={label}
        value={isOther ? OTHER : value}
        options={[
          ...(isCommon ? [] : [[value, value || '–'] as [string, string]]),
          ...options,
          [OTHER, 'Other…'],
        ]}
        {...(isOther ? {} : { path })}
        onChange={(chosen) => {
          setOther(chosen === OTHER)
          if (chosen !== OTHER) onChange(chosen)
        }}
      />
      {isOther && (
        <TextField
          label={`Other ${label.toLowerCase()}`}
          path={path}
          value={value}
          {...VERBATIM}
          onChange={onChange}
        />
      )}
    </div>
  )
}
