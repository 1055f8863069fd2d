import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { problemsAt, useProblems } from '../ui/problems.tsx'

type EditableListProps<Item> = {
  items: Item[]
  onChange: (items: Item[]) => void
  /** The path of the list in the server's errors. */
  path: string
  class: string
  label?: string
  nameOf: (item: Item, at: number) => string
  summaryOf: (item: Item, at: number) => ComponentChildren
  /** The fields of an item, and the button that removes it. */
  fields: (item: Item, at: number, onChange: (next: Item) => void) => ComponentChildren
  removal: (item: Item, at: number, remove: () => void) => ComponentChildren
  /** The content below the list, such as the button that adds an item. */
  children: (add: (item: Item) => void) => ComponentChildren
}

/** Items in an order that matters. One at a time is open for editing. */
export function EditableList<Item>(props: EditableListProps<Item>) {
  const { items, onChange, path, nameOf, summaryOf, fields, removal, children } = props
  const [open, setOpen] = useState<number | null>(null)
  const element = useRef<HTMLDivElement>(null)
  /** The control to focus once it is on screen. */
  const nextFocus = useRef<string | null>(null)
  const [invalid] = problemsAt(useProblems(), path)
  useLayoutEffect(() => {
    const at = Number(invalid?.path.slice(path.length + 1).split('.')[0])
    if (Number.isInteger(at)) setOpen(at)
  }, [invalid])
  useLayoutEffect(() => {
    if (nextFocus.current === null) return
    element.current?.querySelector<HTMLElement>(nextFocus.current)?.focus()
    nextFocus.current = null
  })
  const update = (next: Item[], nextOpen: number | null, focus: string) => {
    nextFocus.current = focus
    setOpen(nextOpen)
    onChange(next)
  }
  // The focus follows a moved item, so that a second press does not move another one.
  const move = (from: number, to: number) => {
    const moved = items.toSpliced(from, 1).toSpliced(to, 0, items[from] as Item)
    update(moved, null, `li:nth-child(${to + 1}) button`)
  }
  const moveButton = (name: string, from: number, to: number) => (
    <button
      type="button"
      class="quiet"
      disabled={to < 0 || to >= items.length}
      aria-label={`Move ${name} ${to < from ? 'up' : 'down'}`}
      onClick={() => move(from, to)}
    >
      {to < from ? '↑' : '↓'}
    </button>
  )
  const renderItem = (item: Item, at: number) => {
    const name = nameOf(item, at)
    const verb = open === at ? 'Close' : 'Edit'
    return (
      <li key={at}>
        {summaryOf(item, at)}
        <span class="actions">
          <button
            type="button"
            aria-expanded={open === at}
            aria-label={`${verb} ${name}`}
            onClick={() => setOpen(open === at ? null : at)}
          >
            {verb}
          </button>
          {moveButton(name, at, at - 1)}
          {moveButton(name, at, at + 1)}
        </span>
        {open === at && (
          <fieldset>
            <legend class="unseen">{name}</legend>
            {fields(item, at, (next) => onChange(items.with(at, next)))}
            <div class="actions">
              {removal(item, at, () => update(items.toSpliced(at, 1), null, '.add'))}
            </div>
          </fieldset>
        )}
      </li>
    )
  }
  return (
    <div ref={element} class={props.class}>
      {items.length > 0 && (
        <ol class="list" aria-label={props.label}>
          {items.map(renderItem)}
        </ol>
      )}
      {children((item) =>
        update([...items, item], items.length, 'li:last-child :is(select, input, textarea)'),
      )}
    </div>
  )
}
