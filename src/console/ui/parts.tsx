import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { failure as refusal } from '../api.ts'
import { withVisibleControls } from '../direction-controls.ts'
import { ago, day, time, utc } from '../format.ts'
import { appTitle, identity } from '../operator.ts'
import { isRestoring } from '../visits.ts'
import { showMessage } from './messages.tsx'
import { describeError, useProblems } from './problems.tsx'

/** The heading of a screen; it takes the focus when the screen opens, unless the operator is typing. */
export function Title({ children, actions }: { children: string; actions?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const { environment } = identity.value
    const place = environment === 'Production' ? '' : ` (${environment})`
    document.title = withVisibleControls(`${children} · ${appTitle.value}${place}`)
    const isTyping = document.activeElement?.matches('input, textarea, select')
    if (!isRestoring() && !isTyping) heading.current?.focus()
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

type TabsProps = {
  label: string
  tabs: [href: string, name: string, isCurrent: boolean][]
  /** On a phone, the tabs stay below the header. */
  isSticky?: boolean
}

export function Tabs({ label, tabs, isSticky = false }: TabsProps) {
  return (
    <nav class={isSticky ? 'tabs stay' : 'tabs'} aria-label={label}>
      {tabs.map(([href, name, isCurrent]) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}

type CardProps = {
  title?: string
  /** The target of links on the screen. */
  id?: string
  children: ComponentChildren
}

export function Card({ title, id, children }: CardProps) {
  return (
    <section class="card" id={id}>
      {title && <h2>{title}</h2>}
      {children}
    </section>
  )
}

type ListProps<Item> = {
  items: Item[]
  /** Shown instead of an empty list. */
  empty?: ComponentChildren
  children: (item: Item) => ComponentChildren
}

export function List<Item>({ items, empty, children }: ListProps<Item>) {
  if (items.length === 0) return empty === undefined ? null : <Empty>{empty}</Empty>
  return <ul class="list">{items.map(children)}</ul>
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

export type Tone = 'good' | 'bad' | 'warn' | 'plain'

export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** Whether times are inside a link, or in a row whose own screen has the exact time. */
export const PlainTimes = createContext(false)

/** A relative time. The tooltip, and the text after a press, is the exact time, locally and in UTC. */
export function TimeAgo({ at }: { at: string | null }) {
  const isPlain = useContext(PlainTimes)
  const [isExact, setExact] = useState(false)
  if (at === null) return <>never</>
  const exact = `${time(at)} (${utc(at)})`
  const text = (
    <time dateTime={at} title={exact}>
      {isExact ? exact : ago(at)}
    </time>
  )
  if (isPlain) return text
  return (
    <button type="button" class="time" onClick={() => setExact(!isExact)}>
      {text}
    </button>
  )
}

/** A time in the browser's time zone; the tooltip is in UTC. */
export function Time({ at }: { at: string | null }) {
  if (at === null) return <>–</>
  return (
    <time dateTime={at} title={utc(at)}>
      {time(at)}
    </time>
  )
}

/**
 * A day in the browser's time zone; the tooltip is the exact time, locally and in UTC. `isLast`: the last day before
 * the time, for `until`.
 */
export function Day({ at, isLast = false }: { at: string; isLast?: boolean }) {
  return (
    <time dateTime={at} title={`${time(at)} (${utc(at)})`}>
      {day(isLast ? new Date(Date.parse(at) - 1).toISOString() : at)}
    </time>
  )
}

const SERVER_TIME = /(\d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC)/

/** A sentence from the server whose times, such as `6 July 2026, 14:00 UTC`, become days in the browser's time zone. */
export function Sentence({ children }: { children: string }) {
  return (
    <>
      {children.split(SERVER_TIME).map((part, at, parts) => {
        const ms = SERVER_TIME.test(part) ? Date.parse(part.replace(',', '')) : Number.NaN
        if (Number.isNaN(ms)) return part
        const isLast = parts[at - 1]?.endsWith('until ') === true
        return <Day key={at} at={new Date(ms).toISOString()} isLast={isLast} />
      })}
    </>
  )
}

export type Fact = [name: ComponentChildren, value: ComponentChildren]
/** Facts that do not apply, false or null, are left out. */
export type Facts = (Fact | false | null)[]

export function Details({ items }: { items: Facts }) {
  return (
    <dl class="facts">
      {items
        .filter((item) => item !== null && item !== false)
        .map(([name, value], at) => (
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
  /** Runs when the button is pressed. A string that it returns replaces `done`. */
  run: () => Promise<unknown>
  /** The message after success. */
  done?: string
  kind?: 'primary' | 'danger' | 'quiet'
  disabled?: boolean
  /** Whether Enter in the form presses it. */
  isSubmit?: boolean
}

/** A button that is disabled while its action runs. Shows an error beside itself, or at the fields that it names. */
export function Action({ children, run, done, kind, disabled, isSubmit }: ActionProps) {
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')
  const scope = useProblems()
  const isMounted = useRef(true)
  const last = useRef({ failure: '', pathname: '' })
  // A failed action may reload the screen, and with it remove the button. The error then moves to the header.
  const moveToHeader = () => {
    const { failure: text, pathname } = last.current
    if (text !== '' && pathname === location.pathname) showMessage(text, 'bad')
  }
  useEffect(
    () => () => {
      isMounted.current = false
      // A dialog has shown its error before it closes.
      if (scope === null) moveToHeader()
    },
    [],
  )
  const press = async ({ currentTarget: button }: { currentTarget: HTMLElement }) => {
    const { pathname } = location
    last.current = { failure: '', pathname }
    setBusy(true)
    setFailure('')
    try {
      const result = await run()
      const message = typeof result === 'string' ? result : done
      if (message) showMessage(message)
    } catch (error) {
      const text = (await scope?.report(error)) ?? describeError(error)
      last.current = { failure: text, pathname }
      if (isMounted.current) setFailure(text)
      else moveToHeader()
    } finally {
      setBusy(false)
      requestAnimationFrame(() => keepFocus(button))
    }
  }
  const dismiss = () => {
    last.current.failure = ''
    setFailure('')
  }
  return (
    <>
      <button
        type={isSubmit ? 'submit' : 'button'}
        class={kind ?? ''}
        disabled={disabled || isBusy}
        aria-busy={isBusy}
        onClick={press}
      >
        {children}
      </button>
      {failure !== '' && <Failure onDismiss={dismiss}>{failure}</Failure>}
    </>
  )
}

type FailureProps = {
  children: string
  onDismiss: () => void
  /** Leads to the control that the error is about. */
  onShow?: () => void
}

/** An error beside the control that caused it. */
export function Failure({ children, onDismiss, onShow }: FailureProps) {
  return (
    <span class="message bad" role="alert">
      <span>{children}</span>
      {onShow && (
        <button type="button" class="quiet" onClick={onShow}>
          Show field
        </button>
      )}
      <button type="button" class="quiet" aria-label="Dismiss" onClick={onDismiss}>
        ×
      </button>
    </span>
  )
}

/** Returns the focus to a button that was busy, or to the heading if the button is gone. The page does not scroll. */
function keepFocus(button: HTMLElement) {
  if (document.activeElement !== document.body) return
  const target = button.isConnected ? button : document.querySelector<HTMLElement>('main h1')
  target?.focus({ preventScroll: true })
}

type CopyProps = { text: string; label?: string; kind?: 'primary' | 'quiet' }

export function Copy({ text, label = 'Copy', kind = 'quiet' }: CopyProps) {
  const copy = () =>
    navigator.clipboard.writeText(text).catch(() => {
      throw refusal('The browser blocked the clipboard. Select the text and copy it yourself.')
    })
  return (
    <Action run={copy} done="Copied." kind={kind}>
      {label}
    </Action>
  )
}

type CopyLineProps = { name: string; text: string; label?: string }

/** A long value on its own line, with a button that copies it. */
export function CopyLine({ name, text, label = `Copy ${name}` }: CopyLineProps) {
  return (
    <div class="actions">
      <span class="soft">{name}</span>
      <code>{text}</code>
      <Copy text={text} label={label} />
    </div>
  )
}
