import { go, linkTo } from './router.ts'

const PLACES: Record<string, string> = {
  o: '',
  p: 'people',
  e: 'events',
  s: 'settings',
  a: 'audit',
}
/** For so long the second key of two is waited for, in ms. */
const PAIR = 1_000

/** Keys that lead somewhere, but never while somebody types. */
export function startKeys(acts: { focusSearch: () => void; showHelp: () => void }): () => void {
  let pressedGoAt = Number.NEGATIVE_INFINITY
  const onKey = (event: KeyboardEvent) => {
    const isElsewhere = event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)
    if (isElsewhere || document.querySelector('dialog[open]')) return
    const isSecond = performance.now() - pressedGoAt < PAIR
    pressedGoAt = Number.NEGATIVE_INFINITY
    const place = PLACES[event.key]
    if (isSecond && place !== undefined) go(linkTo(place))
    else if (event.key === 'g') pressedGoAt = performance.now()
    else if (event.key === '/') acts.focusSearch()
    else if (event.key === '?') acts.showHelp()
    else if (event.key === 'j') step(1)
    else if (event.key === 'k') step(-1)
    else return
    event.preventDefault()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

/** Moves the focus along the links of the rows of a list. */
function step(by: number) {
  const links = [
    ...document.querySelectorAll<HTMLElement>(
      'main .list > li > a, main .list > li > :first-child a',
    ),
  ]
  const at = links.indexOf(document.activeElement as HTMLElement)
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('input:not([type=checkbox]), textarea, select')
}
