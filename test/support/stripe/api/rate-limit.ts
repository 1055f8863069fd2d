import { StripeApiError } from './errors.ts'

/** Requests per second, in total and for each endpoint. */
export type RateLimits = { perSecond: number; perEndpoint: number }

/** Counts by the real clock, because the virtual one may stand still. */
export function createRateLimit() {
  let second = 0
  let counts = new Map<string, number>()
  return { check }

  function check(limits: RateLimits | null, endpoint: string) {
    if (limits === null) return
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) counts = new Map()
    second = now
    if (count('all') > limits.perSecond) throw tooMany('global-rate')
    if (count(endpoint) > limits.perEndpoint) throw tooMany('endpoint-rate')
  }

  function count(name: string): number {
    const value = (counts.get(name) ?? 0) + 1
    counts.set(name, value)
    return value
  }
}

function tooMany(reason: string): StripeApiError {
  return new StripeApiError({
    status: 429,
    code: 'rate_limit',
    message:
      'Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits.',
    headers: { 'stripe-rate-limited-reason': reason },
  })
}
