import type { ComponentChildren } from 'preact'

/** Where the navigation is beside the screen, as in `style.css`. */
const WIDE = '(min-width: 56rem)'

type GroupProps = {
  title: string
  /** What the group holds, shown while it is closed. */
  summary?: string
  /** By default, the group is closed on a phone only. */
  isOpen?: boolean
  children: ComponentChildren
}

export function Group({ title, summary = '', isOpen, children }: GroupProps) {
  return (
    <details class="group" aria-label={title} open={isOpen ?? matchMedia(WIDE).matches}>
      <summary>
        {title} <span class="soft">{summary}</span>
      </summary>
      {children}
    </details>
  )
}
