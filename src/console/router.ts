import { computed, signal } from '@preact/signals'
import { tryTo } from '../lib/errors.ts'
import { decodeSegment, encodeSegment } from '../lib/text/path-segment.ts'
import { enterVisit, leaveVisit, repeats, returnToVisit } from './visits.ts'

const BASE = '/console'
/** Matches no screen; used for a URL that cannot be decoded. */
const UNREADABLE = ['?']

const address = signal(location.pathname + location.search)

/** The segments of the URL after `/console`. */
export const parts = computed(() =>
  splitPath((address.value.split('?')[0] ?? '').slice(BASE.length)),
)

export const query = computed(() => new URLSearchParams(address.value.split('?')[1] ?? ''))

function splitPath(path: string): string[] {
  return tryTo(() => path.split('/').filter(Boolean).map(decodeSegment)) ?? UNREADABLE
}

/** The filters with these names in the URL, as an object and as a query string. */
export function readFilters(names: string[]) {
  const nonEmpty = names.flatMap((name): [string, string][] => {
    const value = query.value.get(name)
    return value ? [[name, value]] : []
  })
  const filter: Record<string, string> = Object.fromEntries(nonEmpty)
  return { filter, search: formatSearch(filter) }
}

/** A filter as a query string, without the empty values. */
export function formatSearch(filter: Record<string, string | undefined>): string {
  const nonEmpty = Object.entries(filter).filter(([, value]) => value)
  const text = new URLSearchParams(nonEmpty as [string, string][]).toString()
  return text === '' ? '' : `?${text}`
}

export function linkTo(path: string, filter: Record<string, string | undefined> = {}): string {
  return `${BASE}${path === '' ? '' : `/${path}`}${formatSearch(filter)}`
}

/** The path of the screen, after `/console/`. */
export function currentPath(): string {
  return parts.value.map(encodeSegment).join('/')
}

export function withQuery(changes: Record<string, string>): string {
  return linkTo(currentPath(), {
    ...Object.fromEntries(query.value),
    ...changes,
  })
}

let mayLeave: (() => boolean) | null = null

/** Calls `ask` before leaving the screen; null removes it. */
export function confirmLeaving(ask: (() => boolean) | null) {
  mayLeave = ask
}

/** The URL with its query encoded as this app encodes it. */
function normalize(href: string): string {
  const { pathname, searchParams } = new URL(href, location.origin)
  return `${pathname}?${searchParams}`
}

export function go(href: string) {
  if (normalize(href) === normalize(address.value)) {
    repeats.value++
    return
  }
  const from = address.value.split('?')[0]
  if (from !== href.split('?')[0] && mayLeave && !mayLeave()) return
  leaveVisit()
  history.pushState(enterVisit(), '', href)
  address.value = href
}

/** Follows links and the browser's history without reloading the page. */
export function startRouter() {
  addEventListener('popstate', ({ state }: PopStateEvent) => {
    const wanted = location.pathname + location.search
    // Only the fragment has changed.
    if (wanted === address.value && state === null) return
    leaveVisit()
    if (mayLeave && wanted !== address.value && !mayLeave()) {
      history.pushState(enterVisit(), '', address.value)
      return
    }
    returnToVisit(state)
    address.value = wanted
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
    const isPlain = !event.defaultPrevented && event.button === 0 && !hasModifier
    if (!link || !isPlain || link.origin !== location.origin || link.target || link.hash) return
    if (!link.pathname.startsWith(BASE) || link.pathname.startsWith(`${BASE}/api/`)) return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
