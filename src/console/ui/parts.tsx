import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { ago, time } from '../format.ts'
import { showMessage } from './messages.tsx'

/** The heading of a screen; it takes the focus when the screen opens. */
export function Title({ children, actions }: { children: string; actions?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${children} · Console`
    heading.current?.focus()
  }, [children])
  return (
    <header class="title">
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
      {actions && <div class="actions">{actions}</div>}
    </header>
  )
}

type TabsProps = { label: string; tabs: [href: string, name: string, isCurrent: boolean][] }

export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([href, name, isCurrent]) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}

export function Card({ title, children }: { title?: string; children: ComponentChildren }) {
  return (
    <section class="card">
      {title && <h2>{title}</h2>}
      {children}
    </section>
  )
}

type ListProps<Item> = {
  items: Item[]
  /** Shown instead of an empty list. */
  empty?: string
  children: (item: Item) => ComponentChildren
}

export function List<Item>({ items, empty, children }: ListProps<Item>) {
  if (items.length === 0) return empty === undefined ? null : <Empty>{empty}</Empty>
  return <ul class="list">{items.map(children)}</ul>
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

export type Tone = 'good' | 'bad' | 'warn' | 'plain'

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** How long ago; the exact time is the tooltip. */
export function TimeAgo({ at }: { at: string | null }) {
  if (at === null) return <>never</>
  return (
    <time dateTime={at} title={`${time(at)} (${at})`}>
      {ago(at)}
    </time>
  )
}

export function Time({ at }: { at: string | null }) {
  if (at === null) return <>–</>
  return (
    <time dateTime={at} title={at}>
      {time(at)}
    </time>
  )
}

export type Fact = [name: ComponentChildren, value: ComponentChildren]

export function Facts({ items }: { items: Fact[] }) {
  return (
    <dl class="facts">
      {items.map(([name, value], at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

type ActionProps = {
  children: ComponentChildren
  /** Runs when the button is pressed. Returning false suppresses `done`. */
  run: () => Promise<unknown>
  /** The message after success. */
  done?: string
  kind?: 'primary' | 'danger' | 'quiet'
  disabled?: boolean
  /** Whether Enter in the form presses it. */
  isSubmit?: boolean
}

/** A button that is disabled while its action runs, and then reports the outcome. */
export function Action({ children, run, done, kind, disabled, isSubmit }: ActionProps) {
  const [isBusy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    try {
      if ((await run()) !== false && done) showMessage(done)
    } catch (error) {
      showMessage(describeError(error), 'bad')
    } finally {
      setBusy(false)
      requestAnimationFrame(keepFocus)
    }
  }
  return (
    <button
      type={isSubmit ? 'submit' : 'button'}
      class={kind ?? ''}
      disabled={disabled || isBusy}
      aria-busy={isBusy}
      onClick={press}
    >
      {children}
    </button>
  )
}

/** If the button is gone, the focus goes to the heading rather than being lost. */
function keepFocus() {
  if (document.activeElement !== document.body) return
  document.querySelector<HTMLElement>('main h1')?.focus()
}

/** A button that copies text to the clipboard. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <Action run={() => navigator.clipboard.writeText(text)} done="Copied." kind="quiet">
      {label}
    </Action>
  )
}

type CopyLineProps = { name: string; text: string; label: string }

/** A long value on its own line, with a button that copies it. */
export function CopyLine({ name, text, label }: CopyLineProps) {
  return (
    <div class="actions">
      <span class="soft">{name}</span>
      <code>{text}</code>
      <Copy text={text} label={label} />
    </div>
  )
}

/** A message for an error of any kind. */
export function describeError(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong. Reload the page.'
  const details = error.details
    .filter(({ message }) => message !== 'step_up_required')
    .map(({ path, message }) => `${path} ${message}`)
  const text = [error.message, ...details].join(' ')
  return error.status >= 500 && error.requestId ? `${text} (request ${error.requestId})` : text
}
