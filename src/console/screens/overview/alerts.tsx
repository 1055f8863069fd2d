import type { Alerts } from '../../../features/alerts/service.ts'
import type { ReplyOf } from '../../api.ts'
import { bytes, number, plural } from '../../format.ts'
import { ActionButton } from '../../ui/declared.tsx'
import { Badge, List, TimeAgo, Title, type Tone } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'

type AlertList = ReplyOf<Alerts['list']>
type RuleState = AlertList['rules'][number]

/** The alert rules; firing and pending alerts first. */
export function Screen() {
  const alerts = useRemote<AlertList>('alerts')
  return (
    <>
      <Title actions={<ActionButton path="alerts/test" input={{}} />}>Alerts</Title>
      <Loaded from={alerts}>
        {({ hasAddress, rules }) => (
          <>
            <p class={hasAddress ? 'soft' : 'warn'}>
              {hasAddress
                ? 'Each alert is sent once by e-mail and to webhooks, and again when it is resolved.'
                : 'ALERT_EMAIL is not set: alerts are sent to webhooks only.'}
            </p>
            <List
              items={rules.filter(isUrgent).toSorted(byUrgency)}
              empty="No alerts are firing or pending."
            >
              {(rule) => <RuleItem key={rule.name} rule={rule} reload={alerts.reload} />}
            </List>
            {QUIET_STATES.map((state) => (
              <QuietRules
                key={state}
                state={state}
                rules={rules.filter((rule) => describeState(rule)[0] === state)}
                reload={alerts.reload}
              />
            ))}
          </>
        )}
      </Loaded>
    </>
  )
}

type QuietProps = { state: string; rules: RuleState[]; reload: () => Promise<void> }

/** The rules in a state that needs no attention. */
function QuietRules({ state, rules, reload }: QuietProps) {
  if (rules.length === 0) return null
  return (
    <details class="card">
      <summary>
        {state} ({rules.length})
      </summary>
      <List items={rules}>
        {(rule) => <RuleItem key={rule.name} rule={rule} reload={reload} />}
      </List>
    </details>
  )
}

function RuleItem({ rule, reload }: { rule: RuleState; reload: () => Promise<void> }) {
  const { name, title, unit, value, threshold, firedAt, isMinimum, minutes } = rule
  const [state, tone] = describeState(rule)
  const measured = value === null ? '' : `Now ${amount(value, unit)}. `
  const limit = `${isMinimum ? 'less' : 'more'} than ${amount(threshold, unit)}`
  return (
    <li>
      <div>
        <strong>{title}</strong> <Badge tone={tone}>{state}</Badge>
        <p class="soft">
          {unit !== '' && `${measured}Alert when ${limit}`}
          {unit === '' && 'Alert when this is true'}
          {minutes > 0 && ` for ${plural(minutes, 'minute')}`}.
          {firedAt !== null && (
            <>
              {' '}
              Started <TimeAgo at={firedAt} />. {rule.advice}
            </>
          )}
        </p>
      </div>
      <span class="actions">
        <ActionButton
          path="alerts/rules/:rule"
          input={{ rule: name }}
          asks={unit === '' ? ['isOn'] : ['isOn', 'threshold']}
          initial={{ isOn: rule.isOn, threshold: rule.isDefault ? '' : String(threshold) }}
          target={title}
          isShort
          verb="Save"
          onDone={reload}
        >
          {unit !== '' && <p class="soft">Unit of the threshold: {unit}</p>}
        </ActionButton>
      </span>
    </li>
  )
}

function describeState({
  isOn,
  firedAt,
  breachedSince,
  value,
}: RuleState): [name: string, tone: Tone] {
  if (!isOn) return ['Off', 'plain']
  if (firedAt !== null) return ['Firing', 'bad']
  if (breachedSince !== null) return ['Pending', 'warn']
  return value === null ? ['Not measured', 'plain'] : ['OK', 'good']
}

const QUIET_STATES = ['OK', 'Not measured', 'Off']

/** Firing or pending. */
function isUrgent(rule: RuleState): boolean {
  return !QUIET_STATES.includes(describeState(rule)[0])
}

/** Firing alerts first. */
function byUrgency(a: RuleState, b: RuleState): number {
  return Number(b.firedAt !== null) - Number(a.firedAt !== null)
}

/** `1 event`, `1.5 hours`, `2% of responses` or `82.1 GB free`. */
function amount(value: number, unit: string): string {
  if (unit === 'MB free') return `${bytes(value * 1e6)} free`
  const rounded = Math.round(value * 10) / 10
  const noun = rounded === 1 ? unit.replace(/^((?:failed )?[a-z-]+)s\b/, '$1') : unit
  return `${number(rounded)}${unit.startsWith('%') ? '' : ' '}${noun}`
}
