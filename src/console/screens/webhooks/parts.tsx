import type { Endpoint as EndpointReply } from '../../../features/webhooks/endpoints.ts'
import type { Json } from '../../api.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'
import { OneTimeSecret } from '../operators/one-time-secret.tsx'

export type Endpoint = Json<EndpointReply>

/** A signing secret, which the server shows only once. */
export function Secret({ secret, onHide }: { secret: string; onHide: () => void }) {
  return (
    <OneTimeSecret title="Signing secret" text={secret} copyLabel="Copy secret" onHide={onHide}>
      Copy this secret now. You won't see it again.
    </OneTimeSecret>
  )
}

const DISABLED: Record<string, string> = {
  gone: 'disabled: replied 410 Gone',
  failing: 'disabled: failed for five days',
}

export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { disabledAt, disabledReason, failingSince } = endpoint
  if (disabledAt !== null) {
    const text = DISABLED[disabledReason ?? '']
    return <Badge tone={text === undefined ? 'plain' : 'bad'}>{text ?? 'disabled'}</Badge>
  }
  if (failingSince === null) return <Badge tone="good">enabled</Badge>
  return <Badge tone="warn">failing</Badge>
}

const TONES: Record<string, Tone> = { delivered: 'good', failed: 'bad', waiting: 'plain' }

export function DeliveryState({ delivery: { state } }: { delivery: { state: string } }) {
  return <Badge tone={TONES[state] ?? 'plain'}>{state}</Badge>
}
