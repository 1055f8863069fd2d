import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'

type FiltersProps = {
  /** The values of the active filters, by name. */
  filter: Record<string, string>
  /** Words for a filter that is set, such as `Registered on or after Nov 3, 2026`. */
  describe?: (name: string, value: string) => string
  onRemove: (name: string) => void
  /** The text of the button that closes the filters, such as `Show 12 users`. */
  results?: string
  /** Few filters: a wide screen shows them at once. */
  isShort?: boolean
  children: ComponentChildren
}

const WIDE_PX = 896

/** The filters of a list: behind a button, with those that are set below it. */
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
          {Object.entries(filter).map(([name, value]) => (
            <Chip
              key={name}
              text={describe?.(name, value) ?? value}
              onRemove={() => remove(name)}
            />
          ))}
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

function Chip({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <li>
      <button type="button" aria-label={`Remove filter: ${text}`} onClick={onRemove}>
        {text} <span aria-hidden="true">×</span>
      </button>
    </li>
  )
}
