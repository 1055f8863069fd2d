import type { ComponentChildren } from 'preact'

/** The width from which the navigation is beside the screen, as in `style.css`. */
const WIDE = '(min-width: 56rem)'

type GroupProps = {
  title: string
  /** A summary of the content, shown while the group is closed. */
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
