import { type Finding, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

/** Checks whether webhook endpoints were disabled because they failed. */
export function checkWebhooks({ failedWebhooks }: ServerState): Finding {
  // A server of an older version does not report them.
  const hosts = (failedWebhooks ?? []).map(({ host }) => host)
  if (hosts.length === 0) return ok('no endpoint is disabled because of failures')
  return warning(
    `disabled because of failures: ${hosts.join(', ')}`,
    'Repair the receiver, then run "homeport webhooks test" and "homeport webhooks enable"; "homeport webhooks list" prints the ids.',
  )
}
