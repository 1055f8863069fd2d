import { computed, signal } from '@preact/signals'
import { decodeSegment } from '../lib/path-segment.ts'

const BASE = '/console'

const address = signal(location.pathname + location.search)

/** The parts of the path after `/console`. */
export const parts = computed(() => partsOf((address.value.split('?')[0] ?? '').slice(BASE.length)))

/** What no screen is called, for a path that cannot be read. */
const UNREADABLE = ['?']

function partsOf(path: string): string[] {
  try {
    return path.split('/').filter(Boolean).map(decodeSegment)
  } catch {
    return UNREADABLE
  }
}

export const query = computed(() => new URLSearchParams(address.value.split('?')[1] ?? ''))

/** The address of a screen: every screen and every filter has one that can be shared. */
export function linkTo(path: string, filter: Record<string, string | undefined> = {}): string {
  const given = Object.entries(filter).filter(([, value]) => value)
  const text = new URLSearchParams(given as [string, string][]).toString()
  return `${BASE}${path === '' ? '' : `/${path}`}${text === '' ? '' : `?${text}`}`
}

/** Whether what is being edited may be left; asked before the screen changes. */
let mayLeave: (() => boolean) | null = null

/** Has `ask` called before the screen changes, until it is null. */
export function guardLeaving(ask: (() => boolean) | null) {
  mayLeave = ask
}

export function go(href: string, isReplaced = false) {
  const from = address.value.split('?')[0]
  if (from !== href.split('?')[0] && mayLeave && !mayLeave()) return
  if (isReplaced) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  address.value = href
}

/** Follows links of this page without loading it anew. */
export function startRouter() {
  addEventListener('popstate', () => {
    const asked = location.pathname + location.search
    if (mayLeave && asked !== address.value && !mayLeave()) {
      history.pushState(null, '', address.value)
    } else address.value = asked
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a')
    const isPlain =
      !event.defaultPrevented && event.button === 0 && !event.metaKey && !event.ctrlKey
    if (!link || !isPlain || link.origin !== location.origin || link.target || link.hash) return
    if (!link.pathname.startsWith(BASE) || link.pathname.startsWith(`${BASE}/api`)) return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
