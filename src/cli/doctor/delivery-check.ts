import type { DeliveryRecord } from '../../usecases/monitoring/monitoring.ts'
import { type Finding, failed, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

/** The billing provider retries for 155 minutes: a refusal before that is settled, or lost. */
const RECENT = 3 * 60 * 60 * 1000

const ADVICE: Record<string, string> = {
  unauthenticated:
    "Give the provider the value of WEBHOOK_TOKEN, and WEBHOOK_SIGNING_SECRET the provider's secret: the log line has the reason.",
  webhook_not_configured: 'Set WEBHOOK_TOKEN, and restart.',
}

/** Whether the server has refused deliveries of the billing provider lately. */
export function checkDeliveries(server: ServerState | null): Finding {
  if (server === null) return warning('unknown: no server tells', 'Start the server.')
  const { refused, acceptedAt }: DeliveryRecord = server.delivery
  if (refused === null || Date.now() - Date.parse(refused.at) > RECENT) {
    return ok(acceptedAt === null ? 'none since the start' : `the last one came at ${acceptedAt}`)
  }
  const { at, status, code } = refused
  const text = `refused at ${at} with ${status} ${code}`
  const advice = ADVICE[code] ?? 'The log says why. The provider retries for 155 minutes.'
  const isWorking = acceptedAt !== null && acceptedAt > at
  return isWorking ? warning(`${text}, later ones were taken`, advice) : failed(text, advice)
}
