import { useId, useRef, useState } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { send } from '../../api.ts'
import { Field, SelectField } from '../../ui/fields.tsx'
import { Action } from '../../ui/parts.tsx'
import { ReasonDialog, type Reload, useSupportDetails } from './support-actions.tsx'

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
  const [entitlementId, setEntitlement] = useState('')
  const [duration, setDuration] = useState('30')
  const [date, setDate] = useState('')
  const facts = useSupportDetails()
  const known = facts?.entitlements ?? []
  const isUnknown = facts !== null && entitlementId !== '' && !known.includes(entitlementId)
  const listId = useId()
  // Sent again after a lost reply, the same request gives access once.
  const request = useRef({ idempotencyKey: '', at: 0 })
  const begin = () => {
    request.current = { idempotencyKey: crypto.randomUUID(), at: Date.now() }
  }
  const grant = async (reason: string) => {
    const { idempotencyKey, at } = request.current
    const until = computeEnd(duration, date, at)
    const body = { entitlementId, until, reason, idempotencyKey }
    await send(`people/${encodeSegment(userId)}/grants`, body)
    await reload()
  }
  return (
    <ReasonDialog
      label="Grant access"
      confirm="Grant"
      done="Access granted."
      isReady={entitlementId !== '' && (duration !== ON_A_DATE || date !== '')}
      onOpen={begin}
      run={grant}
    >
      <p>The user gets the entitlement immediately. A more expensive plan is kept.</p>
      <Field label="Entitlement">
        <input
          value={entitlementId}
          list={listId}
          autocomplete="off"
          spellcheck={false}
          maxLength={100}
          onInput={(event) => setEntitlement(event.currentTarget.value.trim())}
        />
      </Field>
      <datalist id={listId}>
        {known.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      {/* Its height is reserved: the button must not move away under a finger. */}
      <p role="status" class="holder">
        {isUnknown &&
          `No plan includes ${entitlementId}. It unlocks only what the app checks itself.`}
      </p>
      <SelectField label="Ends" value={duration} options={DURATIONS} onChange={setDuration} />
      {duration === ON_A_DATE && (
        <Field label="Date" hint="Access ends when this day begins, UTC">
          <input type="date" value={date} onInput={(event) => setDate(event.currentTarget.value)} />
        </Field>
      )}
    </ReasonDialog>
  )
}

type GrantProps = {
  userId: string
  grantId: string
  entitlementId: string
  /** When access was to end; null: never. */
  until: string | null
  active: boolean
  /** Whether another grant gives the same now. */
  isGivenAgain: boolean
  reason: string
  reload: Reload
}

/** Revokes granted access; once it is revoked, gives the same access again. */
export function RevokeOrRestore(props: GrantProps) {
  const { userId, grantId, entitlementId, until, active, isGivenAgain, reason, reload } = props
  const path = `people/${encodeSegment(userId)}/grants`
  if (active) {
    const revoke = async (why: string) => {
      await send(`${path}/${grantId}/revoke`, { reason: why })
      await reload()
    }
    return (
      <ReasonDialog
        label="Revoke access"
        confirm="Revoke"
        done="Access revoked."
        isDanger
        run={revoke}
      >
        <p>
          The user loses {entitlementId} at once, unless a purchase or another grant gives it too.
        </p>
      </ReasonDialog>
    )
  }
  if (isGivenAgain || (until !== null && Date.parse(until) <= Date.now())) return null
  const restore = async () => {
    await send(path, { entitlementId, until, reason })
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
  if (duration === ON_A_DATE) return `${date}T00:00:00.000Z`
  return new Date(now + Number(duration) * DAY_MS).toISOString()
}
