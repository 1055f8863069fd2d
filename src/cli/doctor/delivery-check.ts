import { HOUR_MS } from '../../lib/time/durations.ts'
import type { DeliveryRecord } from '../../operations/monitoring.ts'
import { type Finding, failed, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

/** The billing provider retries for 155 minutes: after that, a refused event was accepted or is lost. */
const RECENT_MS = 3 * HOUR_MS

const ADVICE: Record<string, string> = {
  unauthenticated:
    "Enter the value of WEBHOOK_TOKEN in the provider's dashboard, and set WEBHOOK_SIGNING_SECRET to the provider's secret: the log gives the reason.",
  webhook_not_configured: 'Set WEBHOOK_TOKEN and restart.',
}

/** Checks whether the server recently refused deliveries from the billing provider. */
export function checkDeliveries(server: ServerState | null): Finding {
  if (server === null) return warning('unknown: no server is running', 'Start the server.')
  const { refused, acceptedAt }: DeliveryRecord = server.delivery
  if (refused === null || Date.now() - Date.parse(refused.at) > RECENT_MS) {
    return ok(acceptedAt === null ? 'none since startup' : `the last one arrived at ${acceptedAt}`)
  }
  const { at, status, code } = refused
  const text = `refused at ${at} with ${status} ${code}`
  const advice = ADVICE[code] ?? 'The log says why. The provider retries for 155 minutes.'
  const isWorking = acceptedAt !== null && acceptedAt > at
  return isWorking ? warning(`${text}; later ones were accepted`, advice) : failed(text, advice)
}
