import { withTimeout } from '../../lib/concurrency/with-timeout.ts'
import type { Log } from '../../lib/log/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import { pause } from '../../platform/jobs/jobs.ts'
import type { Acme } from './acme.ts'
import type { Certificate } from './certificate.ts'

type RenewalDeps = {
  acme: Acme
  use: (certificate: Certificate) => void
  log: Log
  now?: () => Date
  /** In ms; set only by tests. */
  waits?: { check: number; retries: number[]; deadline: number }
}

/** How often we check, and when we retry after a failure: authorities limit failures. */
const WAITS = {
  check: 6 * HOUR_MS,
  retries: [MINUTE_MS, 5 * MINUTE_MS, 20 * MINUTE_MS, HOUR_MS],
  /** For one attempt: an authority that never finishes must not block later attempts. */
  deadline: 10 * MINUTE_MS,
}
/** Renew when this fraction of the lifetime is left. */
const RENEWAL_SHARE = 1 / 3

/** Keeps a certificate valid: passes the stored one and each new one to `use`. */
export function keepCertificate({
  acme,
  use,
  log,
  now = () => new Date(),
  waits = WAITS,
}: RenewalDeps) {
  const stopping = new AbortController()
  const stopped = new Promise<null>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(null))
  })
  let failures = 0
  let current: Certificate | null = null
  const running = run()
  return { stop, isFailing: () => current === null || failures > 0 }

  async function stop() {
    stopping.abort()
    await running
  }

  async function run() {
    const stored = await acme.load()
    current = stored?.certificate ?? null
    // A certificate for other domains or by another authority is still better than none.
    let isAsConfigured = stored?.isAsConfigured ?? false
    if (current) use(current)
    while (!stopping.signal.aborted) {
      const obtained = current && isAsConfigured && !isDue(current) ? null : await obtain()
      current = obtained ?? current
      isAsConfigured ||= obtained !== null
      const retry = waits.retries[Math.min(failures, waits.retries.length) - 1]
      await pause(retry ?? waits.check, stopping.signal)
    }
  }

  async function obtain(): Promise<Certificate | null> {
    try {
      log.info('requesting a certificate')
      const order = withTimeout(acme.obtain(), waits.deadline, () => {
        return new Error(`the authority took longer than ${waits.deadline / 1000} s`)
      })
      // An order may take minutes, and a stop must not wait for it.
      const certificate = await Promise.race([order, stopped])
      if (certificate === null) return null
      failures = 0
      log.info({ validTo: certificate.validTo }, 'using a new certificate')
      use(certificate)
      return certificate
    } catch (err) {
      failures++
      log.error({ err }, 'no certificate could be obtained: keeping the current one and retrying')
      return null
    }
  }

  function isDue({ validFrom, validTo }: Certificate): boolean {
    const left = validTo.getTime() - now().getTime()
    return left < RENEWAL_SHARE * (validTo.getTime() - validFrom.getTime())
  }
}
