import { signal } from '@preact/signals'

/** What a screen showed when the operator left it. */
type Visit = { scrollY: number; focused: string | null; pages: Map<string, unknown> }

const MAX_VISITS = 20
const FRAME_LIMIT = 60
const SETTLING_MS = 300

/** Visits for Back, by the key in the state of the history entry. Only in memory: lists contain personal data. */
const visits = new Map<string, Visit>()
let count = 0
let key = ''
let isReturning = false

history.scrollRestoration = 'manual'
history.replaceState(enterVisit(), '')

/** How often the operator has followed a link to the current URL, which reloads its data. */
export const repeats = signal(0)

/** The pages of lists that the current visit has loaded, by path. */
export function keptPages(): Map<string, unknown> {
  return visits.get(key)?.pages ?? new Map()
}

/** Whether Back is about to restore the position, so that the heading does not take the focus. */
export function isRestoring(): boolean {
  return isReturning
}

/** Starts a visit; returns the state of its history entry. */
export function enterVisit() {
  isReturning = false
  key = `${performance.timeOrigin} ${count++}`
  visits.set(key, { scrollY: 0, focused: null, pages: new Map() })
  const [oldest] = visits.keys()
  if (visits.size > MAX_VISITS && oldest !== undefined) visits.delete(oldest)
  return { visit: key }
}

export function leaveVisit() {
  const visit = visits.get(key)
  if (!visit) return
  visit.scrollY = scrollY
  visit.focused = document.activeElement?.getAttribute('href') ?? null
}

/** Goes back to the visit of a history entry, or starts a visit for an unknown entry. */
export function returnToVisit(state: unknown) {
  const wanted = (state as { visit?: string } | null)?.visit ?? ''
  const visit = visits.get(wanted)
  if (!visit) return void enterVisit()
  key = wanted
  isReturning = true
  restore(visit, FRAME_LIMIT)
}

/** Forgets every visit, when another operator signs in. */
export function forgetVisits() {
  visits.clear()
  history.replaceState(enterVisit(), '')
}

/** Scrolls as soon as the screen is as tall as it was. */
function restore(visit: Visit, framesLeft: number) {
  requestAnimationFrame(() => {
    if (visits.get(key) !== visit) return
    const isHighEnough = document.documentElement.scrollHeight >= visit.scrollY + innerHeight
    const isReady = isHighEnough && framesLeft < FRAME_LIMIT - 2
    if (!isReady && framesLeft > 0) return restore(visit, framesLeft - 1)
    // The heading may be drawn a little later.
    setTimeout(() => (isReturning = false), SETTLING_MS)
    const { focused } = visit
    const link = focused && document.querySelector(`main a[href="${CSS.escape(focused)}"]`)
    const target = link || document.querySelector('main h1')
    ;(target as HTMLElement | null)?.focus({ preventScroll: true })
    scrollTo(0, visit.scrollY)
  })
}
