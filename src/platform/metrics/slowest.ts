import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'

type SlowRequest = {
  /** The method and the route pattern. */
  name: string
  status: number
  ms: number
  at: number
  requestId: string
  userId: string | null
}

export type Slowest = ReturnType<typeof createSlowest>

const MAX_LISTED = 20
const SLOTS = HOUR_MS / MINUTE_MS + 1

/**
 * Keeps the slowest of each minute, so that a request is still listed once slower ones are over an hour old. Those that
 * `isApart` selects do not displace others.
 */
export function createSlowest(now: () => Date, isApart: (name: string) => boolean) {
  const slots: { minute: number; requests: SlowRequest[] }[] = []
  return { add, list }

  function add(request: SlowRequest) {
    const minute = Math.floor(request.at / MINUTE_MS)
    const slot = slots[minute % SLOTS]
    if (slot?.minute !== minute) {
      slots[minute % SLOTS] = { minute, requests: [request] }
      return
    }
    const { requests } = slot
    const alike = requests.filter(({ name }) => isApart(name) === isApart(request.name))
    const last = alike.length < MAX_LISTED ? null : alike.at(-1)
    if (last && request.ms <= last.ms) return
    if (last) requests.splice(requests.indexOf(last), 1)
    const at = requests.findIndex(({ ms }) => ms < request.ms)
    requests.splice(at < 0 ? requests.length : at, 0, request)
  }

  function list(isWanted: (request: SlowRequest) => boolean): SlowRequest[] {
    const until = now().getTime()
    return slots
      .flatMap((slot) => slot?.requests ?? [])
      .filter((one) => one.at > until - HOUR_MS && one.at <= until && isWanted(one))
      .toSorted((one, other) => other.ms - one.ms)
      .slice(0, MAX_LISTED)
  }
}
