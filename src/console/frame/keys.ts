import { go, linkTo } from '../router.ts'
import { SCREENS } from '../screens.tsx'

/** The longest time between the two keys of a shortcut such as `g p`. */
const PAIR_TIMEOUT_MS = 1_000

type Actions = { focusSearch: () => void; showHelp: () => void }

/** Listens for shortcuts, except while the operator is typing. Returns a function that stops it. */
export function startKeys({ focusSearch, showHelp }: Actions): () => void {
  let goPressedAt = Number.NEGATIVE_INFINITY
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)

  function onKey(event: KeyboardEvent) {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      if (!document.querySelector('dialog[open]')) focusSearch()
      return
    }
    const isIgnored = event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)
    if (isIgnored || document.querySelector('dialog[open]')) return
    const isSecond = performance.now() - goPressedAt < PAIR_TIMEOUT_MS
    goPressedAt = Number.NEGATIVE_INFINITY
    const target = SCREENS.find(({ key }) => key === event.key)
    if (isSecond && target) go(linkTo(target.path))
    else if (event.key === 'g') goPressedAt = performance.now()
    else if (event.key === '/') focusSearch()
    else if (event.key === '?') showHelp()
    else if (event.key === 'j') moveFocus(1)
    else if (event.key === 'k') moveFocus(-1)
    else return
    event.preventDefault()
  }
}

function moveFocus(by: number) {
  const links = [
    ...document.querySelectorAll<HTMLElement>(
      'main .list > li > a, main .list > li > :first-child a, main .rows td:first-child a',
    ),
  ]
  const at = links.indexOf(document.activeElement as HTMLElement)
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input:not([type=checkbox]), textarea, select')
}
