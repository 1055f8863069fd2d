import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { ago, time } from '../format.ts'
import { say } from './messages.tsx'

/** The heading of a screen; the focus goes there when it opens. */
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

export function Card({ title, children }: { title?: string; children: ComponentChildren }) {
  return (
    <section class="card">
      {title && <h2>{title}</h2>}
      {children}
    </section>
  )
}

export type Tone = 'good' | 'bad' | 'warn' | 'plain'

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** An instant: how long ago, and exactly when one points at it. */
export function Ago({ at }: { at: string | null }) {
  if (at === null) return <>never</>
  return (
    <time dateTime={at} title={`${time(at)} (${at})`}>
      {ago(at)}
    </time>
  )
}

export function At({ at }: { at: string | null }) {
  if (at === null) return <>–</>
  return (
    <time dateTime={at} title={at}>
      {time(at)}
    </time>
  )
}

/** Names with their values. */
export function Facts({ of }: { of: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

type ActProps = {
  children: ComponentChildren
  act: () => Promise<unknown>
  /** Said once it is done. */
  done?: string
  kind?: 'main' | 'danger' | 'quiet'
  disabled?: boolean
  /** Enter in the form around presses it. */
  isSubmit?: boolean
}

/** A button whose work takes a moment; what goes wrong is said. */
export function Act({ children, act, done, kind, disabled, isSubmit }: ActProps) {
  const [isBusy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    try {
      if ((await act()) !== false && done) say(done)
    } catch (error) {
      say(sentenceOf(error), 'bad')
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
      onClick={run}
    >
      {children}
    </button>
  )
}

/** Where the button is gone with what it did, the keyboard goes on from the heading. */
function keepFocus() {
  if (document.activeElement !== document.body) return
  document.querySelector<HTMLElement>('main h1')?.focus()
}

/** What went wrong, and what to do. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong on this page. Load it again.'
  const details = error.details
    .filter(({ message }) => message !== 'step_up_required')
    .map(({ path, message }) => `${path} ${message}`)
  const text = [error.message, ...details].join(' ')
  return error.status >= 500 && error.requestId ? `${text} (request ${error.requestId})` : text
}

/** What a list says when there is nothing in it. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

export function Field({
  label,
  hint,
  children,
}: {
  label: string
  hint?: string | undefined
  children: ComponentChildren
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  )
}

/** Copies a text; the button says that it has. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <Act act={() => navigator.clipboard.writeText(text)} done="Copied." kind="quiet">
      {label}
    </Act>
  )
}
