import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { plural } from '../format.ts'

type FiltersProps = {
  /** How many filters are set. */
  count: number
  children: ComponentChildren
}

/** The filters of a list. On a phone, they are behind a button. */
export function Filters({ count, children }: FiltersProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div class={isOpen ? 'filter-box open' : 'filter-box'}>
      <button type="button" class="toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {count === 0 ? 'Filters' : `${plural(count, 'filter')} set`}
      </button>
      <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        {children}
      </form>
    </div>
  )
}
