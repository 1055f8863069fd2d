import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { plural } from '../format.ts'

type FiltersProps = {
  /** How many filters are set. */
  count: number
  children: ComponentChildren
}

/** The filters of a list. On a phone, they are behind a button. */
export function Filters({ count, children }: FiltersProps) {
  const [isOpen, setOpen] = useState(false)
  const toggle = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    toggle.current?.focus()
  }
  return (
    <div class={isOpen ? 'filter-box open' : 'filter-box'}>
      <button
        ref={toggle}
        type="button"
        class="toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {count === 0 ? 'Filters' : `${plural(count, 'filter')} set`}
      </button>
      <form
        class="filters"
        autocapitalize="none"
        onSubmit={(event) => event.preventDefault()}
        aria-label="Filters"
      >
        {children}
        <button type="button" class="toggle wide" onClick={close}>
          Show results
        </button>
      </form>
    </div>
  )
}
