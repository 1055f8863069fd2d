import type { ComponentChildren, InputHTMLAttributes, PartialInputHTMLAttributes } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { words } from '../format.ts'
import { go, linkTo, readFilters } from '../router.ts'
import { Checkbox, Field, SelectField } from './fields.tsx'

type Filter = Record<string, string>
type Choice = [value: string, name: string]

/** How a list is filtered by one parameter of its address. By default, the control is a text field. */
export type FilterKind = {
  /** By default the name in words. */
  label?: string
  hint?: string
  /** Values to choose from. `Any` is added, unless one of them is empty. */
  options?: string[]
  /** The choice while none is in the address. */
  shown?: string
  /** The name of a value; by default, a choice is shown in words, and other text unchanged. */
  describe?: (value: string) => string
  /** Shows only the rows to which the label applies. */
  isFlag?: boolean
  /** Attributes of a text, such as its type. */
  input?: PartialInputHTMLAttributes<HTMLInputElement>
  /** A control that sets other filters too, or none. */
  control?: (filter: Filter, set: (changes: Filter) => void) => ComponentChildren
}

/** The filters of a list, by their names in the address. */
export type FilterKinds = Record<string, FilterKind>

type ListFiltersProps = Pick<FiltersProps, 'results' | 'isShort'> & {
  /** The path of the screen. */
  path: string
  kinds: FilterKinds
  /** The parameters that stay in the address. */
  kept?: Filter
  /** Whether a filter replaces the others. */
  isExclusive?: boolean
  children?: ComponentChildren
}

/** The filters of a list, as its screen describes them. They are in the address. */
export function ListFilters(props: ListFiltersProps) {
  const { path, kinds, kept, isExclusive = false, children, ...shown } = props
  const { filter } = readFilters(Object.keys(kinds))
  const set = (changes: Filter) =>
    go(linkTo(path, { ...kept, ...(isExclusive ? {} : filter), ...changes }))
  const [others = [], flags = []] = [false, true].map((isWanted) =>
    Object.entries(kinds).filter(([, { isFlag = false }]) => isFlag === isWanted),
  )
  return (
    <Filters
      {...shown}
      filter={filter}
      describe={(name, value) => describeFilter(kinds, name, value)}
      onRemove={(name) => set({ [name]: '' })}
    >
      {others.map(([name, kind]) => (
        <FilterControl key={name} name={name} kind={kind} filter={filter} set={set} />
      ))}
      {flags.length > 0 && (
        <fieldset class="plain">
          <legend>Show only</legend>
          {flags.map(([name, { label = words(name) }]) => (
            <Checkbox
              key={name}
              label={label}
              checked={filter[name] === 'true'}
              onChange={(isOn) => set({ [name]: isOn ? 'true' : '' })}
            />
          ))}
        </fieldset>
      )}
      {children}
    </Filters>
  )
}

/** The text of an active filter. */
function describeFilter(kinds: FilterKinds, name: string, value: string): string {
  const { label = words(name), options, isFlag, describe = options && words } = kinds[name] ?? {}
  return isFlag ? label : (describe?.(value) ?? value)
}

type ControlProps = {
  name: string
  kind: FilterKind
  filter: Filter
  set: (changes: Filter) => void
}

function FilterControl({ name, kind, filter, set }: ControlProps) {
  const { label = words(name), hint, options, describe = words, input, control } = kind
  const { [name]: value = kind.shown ?? '' } = filter
  const onSet = (next: string) => set({ [name]: next })
  if (control) return <>{control(filter, set)}</>
  if (options === undefined) {
    return (
      <Field label={label} hint={hint}>
        <FilterInput {...input} value={value} onSet={onSet} />
      </Field>
    )
  }
  const nameOf = (one: string) => (one === '' && !options.includes('') ? 'Any' : describe(one))
  // The address may contain an unlisted value.
  const all = [...new Set(['', ...options, value])].map((one): Choice => [one, nameOf(one)])
  return <SelectField label={label} value={value} options={all} onChange={onSet} />
}

type FilterInputProps = PartialInputHTMLAttributes<HTMLInputElement> & {
  value: string
  onSet: (text: string) => void
}

/** A text by which a list is filtered once it is complete. It keeps the focus when the address changes. */
function FilterInput({ value, onSet, ...input }: FilterInputProps) {
  const [text, setText] = useState(value)
  // An effect after the first paint would undo what is typed as soon as the field appears.
  useLayoutEffect(() => setText(value), [value])
  return (
    <input
      {...(input as InputHTMLAttributes<HTMLInputElement>)}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={({ currentTarget: { value: entered, type } }) => {
        // While a year is typed, such as 0202, a date is complete after each digit.
        if (type !== 'date' || !entered.startsWith('0')) onSet(entered.trim())
      }}
    />
  )
}

type FiltersProps = {
  /** The values of the active filters, by name. */
  filter: Record<string, string>
  /** The text of an active filter, such as `Registered on or after Nov 3, 2026`. */
  describe?: (name: string, value: string) => string
  onRemove: (name: string) => void
  /** The text of the button that closes the filters, such as `Show 12 users`. */
  results?: string
  /** Few filters: a wide screen shows them at once. */
  isShort?: boolean
  children: ComponentChildren
}

const WIDE_PX = 896

/** The filters of a list: behind a button, with the active ones below it. */
export function Filters(props: FiltersProps) {
  const { filter, describe, onRemove, results = 'Show results', isShort = false, children } = props
  const [isOpen, setOpen] = useState(isShort && innerWidth >= WIDE_PX)
  const toggle = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    toggle.current?.focus()
  }
  const remove = (name: string) => {
    onRemove(name)
    toggle.current?.focus()
  }
  return (
    <div class={`filter-box ${isOpen ? 'open' : ''} ${isShort ? 'short' : ''}`}>
      <button
        ref={toggle}
        type="button"
        class="toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        Filters
      </button>
      {Object.keys(filter).length > 0 && (
        <ul class="chips" aria-label="Active filters">
          {Object.entries(filter).map(([name, value]) => {
            const text = describe?.(name, value) ?? value
            return (
              <li key={name}>
                <button
                  type="button"
                  aria-label={`Remove filter: ${text}`}
                  onClick={() => remove(name)}
                >
                  {text} <span aria-hidden="true">×</span>
                </button>
              </li>
            )
          })}
        </ul>
      )}
      <form
        class="filters"
        autocapitalize="none"
        onSubmit={(event) => event.preventDefault()}
        aria-label="Filters"
      >
        {children}
        <button type="button" class="toggle wide" onClick={close}>
          {results}
        </button>
      </form>
    </div>
  )
}
