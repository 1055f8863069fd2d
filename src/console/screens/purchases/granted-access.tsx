import { useState } from 'preact/hooks'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { perform } from '../../declared.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Field, SelectField, TextField, VERBATIM } from '../../ui/fields.tsx'
import { Action } from '../../ui/parts.tsx'
import { type Reload, useSupportDetails } from './parts.tsx'

const ON_A_DATE = 'date'
const NEVER = 'never'
const DURATIONS: [value: string, name: string][] = [
  ['7', 'For 7 days'],
  ['30', 'For 30 days'],
  ['365', 'For 365 days'],
  [ON_A_DATE, 'Until a date'],
  [NEVER, 'No end date'],
]

/** Gives a user an entitlement without a purchase. */
export function GrantAccess({ userId, reload }: { userId: string; reload: Reload }) {
  const [typed, setEntitlement] = useState<string | null>(null)
  const [duration, setDuration] = useState('30')
  const [date, setDate] = useState('')
  const facts = useSupportDetails()
  const known = facts?.entitlements ?? []
  const entitlementId = typed ?? (known.length === 1 ? (known[0] ?? '') : '')
  const isUnknown = facts !== null && entitlementId !== '' && !known.includes(entitlementId)
  // A request that is repeated after a lost response must not grant access twice.
  const [{ idempotencyKey, at }, setRequest] = useState({ idempotencyKey: '', at: 0 })
  const until = computeEnd(duration, date, at)
  return (
    <ActionButton
      path="people/:id/grants"
      input={{ id: userId, entitlementId, until, idempotencyKey }}
      asks={['reason']}
      isDisabled={entitlementId === '' || (duration === ON_A_DATE && date === '')}
      onOpen={() => setRequest({ idempotencyKey: crypto.randomUUID(), at: Date.now() })}
      onDone={reload}
    >
      <TextField
        label="Entitlement"
        value={entitlementId}
        suggestions={known.map((id) => [id, id])}
        {...VERBATIM}
        maxLength={100}
        onChange={(text) => setEntitlement(text.trim())}
      />
      {/* Reserves its height, so that the button does not move under a finger. */}
      <p role="status" class="holder">
        {isUnknown &&
          `No plan includes ${entitlementId}. It unlocks only what the app itself checks for.`}
      </p>
      <SelectField label="Ends" value={duration} options={DURATIONS} onChange={setDuration} />
      {duration === ON_A_DATE && (
        <Field label="Last day" hint="The last day with access (UTC)">
          <input type="date" value={date} onInput={(event) => setDate(event.currentTarget.value)} />
        </Field>
      )}
    </ActionButton>
  )
}

type GrantProps = {
  userId: string
  grantId: string
  entitlementId: string
  /** When access was due to end; null: never. */
  until: string | null
  active: boolean
  /** Whether another grant currently gives the same access. */
  isGivenAgain: boolean
  reason: string
  reload: Reload
}

/** Revokes granted access, or grants revoked access again. */
export function RevokeOrRestore(props: GrantProps) {
  const { userId, grantId, entitlementId, until, active, isGivenAgain, reason, reload } = props
  if (active) {
    return (
      <ActionButton
        path="people/:id/grants/:grantId/revoke"
        input={{ id: userId, grantId }}
        asks={['reason']}
        onDone={reload}
      />
    )
  }
  if (isGivenAgain || (until !== null && Date.parse(until) <= Date.now())) return null
  const restore = async () => {
    await perform('people/:id/grants', { id: userId, entitlementId, until, reason })
    await reload()
  }
  return (
    <Action run={restore} done="Access granted again.">
      Undo revocation
    </Action>
  )
}

function computeEnd(duration: string, date: string, now: number): string | null {
  if (duration === NEVER) return null
  if (duration === ON_A_DATE) return date && new Date(Date.parse(date) + DAY_MS).toISOString()
  return new Date(now + Number(duration) * DAY_MS).toISOString()
}
