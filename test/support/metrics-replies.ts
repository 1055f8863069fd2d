import type { EndpointPoint, Steps, TrafficPoint } from '../../src/platform/metrics/charts.ts'

const MINUTE = 60_000
const LOGIN = 'POST /api/auth/login/v1'
const CONSOLE = 'GET /console/api/overview'

/** Responses from the console's metrics routes: an hour in which the value of each step is its number. */
export function metricsReplies(now: number) {
  const from = Math.floor(now / MINUTE) * MINUTE - 60 * MINUTE
  return { from, traffic, endpoints, endpoint }

  function traffic(earlier: string[]) {
    const starts = [
      { at: iso(from + 20 * MINUTE), instance: '', version: '0.2.0', before: '0.1.0' },
    ]
    return { steps: steps(earlier, trafficPoint), starts }
  }

  function endpoint(earlier: string[]): Steps<EndpointPoint> {
    return steps(earlier, (value) => ({ ...countsOf(value), refused: 1 }))
  }

  function endpoints() {
    const endpoint = (name: string, p99: number) => {
      const isConsole = name === CONSOLE
      return { name, count: 200, p50: 2, p99, refused: 3, errors: 1, isConsole }
    }
    const slowest = endpoint(LOGIN, 240)
    const times = { p50: 40, p99: 90 }
    const url = 'https://example.com/hooks'
    return {
      since: iso(from),
      slowest,
      minRequests: 10,
      endpoints: [endpoint(CONSOLE, 900), slowest, endpoint('GET /health', 1), endpoint('none', 1)],
      outgoing: [{ id: 'e1', url, waiting: 1, delivered: 90, retried: 4, failed: 1, ...times }],
      incoming: [
        {
          provider: 'app_store',
          received: 50,
          conflicting: 0,
          failed: 1,
          ...times,
          p99: 1_410_790.11,
        },
      ],
    }
  }

  function steps<Point>(earlier: string[], point: (value: number) => Point): Steps<Point> {
    const points = (factor: number) => Array.from({ length: 60 }, (_, at) => point(at * factor))
    const before = { day: points(10), week: points(100) }
    const chosen = Object.entries(before).filter(([age]) => earlier.includes(age))
    return {
      from,
      stepMs: MINUTE,
      current: points(1),
      earlier: Object.fromEntries(chosen),
    }
  }
}

function trafficPoint(value: number): TrafficPoint {
  return { ...countsOf(value), events: 0, writes: value, memory: 1e8 }
}

function countsOf(value: number) {
  return { requests: value, errors: 0, p50: value, p99: value + 1 }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
