import type { ComponentChildren } from 'preact'

/** Where the navigation is beside the screen, as in `style.css`. */
const WIDE = '(min-width: 56rem)'

type GroupProps = {
  title: string
  /** What the group holds, shown while it is closed. */
  summary?: string
  children: ComponentChildren
}

/** Fields that belong together. On a phone, the group is closed at first. */
export function Group({ title, summary = '', children }: GroupProps) {
  return (
    <details class="group" aria-label={title} open={matchMedia(WIDE).matches}>
      <summary>
        {title} <span class="soft">{summary}</span>
      </summary>
      {children}
    </details>
  )
}
