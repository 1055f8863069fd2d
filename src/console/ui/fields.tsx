import type { ComponentChildren, InputHTMLAttributes, PartialInputHTMLAttributes } from 'preact'

type FieldProps = { label: string; hint?: string | undefined; children: ComponentChildren }

/** A control with its label. */
export function Field({ label, hint, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  )
}

type TextFieldProps = Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'label' | 'onChange'> & {
  label: string
  hint?: string | undefined
  type?: 'text' | 'password' | 'number'
  onChange: (text: string) => void
}

export function TextField({ label, hint, onChange, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      <input
        {...(input as InputHTMLAttributes)}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </Field>
  )
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
  value: string
  options: [value: string, name: string][]
  onChange: (value: string) => void
}

export function SelectField({ label, value, options, onChange }: SelectProps) {
  return (
    <Field label={label}>
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
