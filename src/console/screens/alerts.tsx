import { useState } from 'preact/hooks'
import type { Alerts } from '../../features/alerts/service.ts'
import { type ReplyOf, send } from '../api.ts'
import { canEdit } from '../operator.ts'
import { Checkbox, TextField } from '../ui/fields.tsx'
import { Action, Badge, Card, List, TimeAgo, Title, type Tone } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

type AlertList = ReplyOf<Alerts['list']>
type RuleState = AlertList['rules'][number]

/** What operators are told about, and what is wrong now. */
export function AlertsScreen() {
  const alerts = useRemote<AlertList>('alerts')
  return (
    <>
      <Title
        actions={
          canEdit.value && (
            <Action run={() => send('alerts/test', {})} done="The test alert is on its way.">
              Send a test alert
            </Action>
          )
        }
      >
        Alerts
      </Title>
      <Loaded from={alerts}>
        {({ hasAddress, rules }) => (
          <>
            <p class={hasAddress ? 'soft' : 'warn'}>
              {hasAddress
                ? 'Alerts are sent once by e-mail and to webhooks, and once more when they are resolved.'
                : 'ALERT_EMAIL is not set: alerts are sent to webhooks only.'}
            </p>
            <Card title="Rules">
              <List items={rules.toSorted(byUrgency)} empty="No rules.">
                {(rule) => <RuleItem key={rule.name} rule={rule} reload={alerts.reload} />}
              </List>
            </Card>
          </>
        )}
      </Loaded>
    </>
  )
}

function RuleItem({ rule, reload }: { rule: RuleState; reload: () => Promise<void> }) {
  const [isEditing, setEditing] = useState(false)
  const { title, unit, value, threshold, firedAt, isMinimum, minutes } = rule
  const [state, tone] = stateOf(rule)
  const measured = value === null ? '' : `Now ${`${rounded(value)} ${unit}`.trim()}. `
  const limit = `${isMinimum ? 'below' : 'above'} ${threshold} ${unit}`.trim()
  return (
    <li>
      <div>
        <strong>{title}</strong> <Badge tone={tone}>{state}</Badge>
        <p class="soft">
          {unit !== '' && `${measured}Alerts ${limit}`}
          {unit === '' && 'Alerts when it happens'}
          {minutes > 0 && ` for ${minutes} minutes`}.
          {firedAt !== null && (
            <>
              {' '}
              Since <TimeAgo at={firedAt} />. {rule.advice}
            </>
          )}
        </p>
      </div>
      {canEdit.value && !isEditing && (
        <span class="actions">
          <button type="button" aria-label={`Edit ${title}`} onClick={() => setEditing(true)}>
            Edit
          </button>
        </span>
      )}
      {isEditing && (
        <RuleForm
          rule={rule}
          onDone={async () => {
            setEditing(false)
            await reload()
          }}
        />
      )}
    </li>
  )
}

function stateOf({ isOn, firedAt, breachedSince, value }: RuleState): [name: string, tone: Tone] {
  if (!isOn) return ['Off', 'plain']
  if (firedAt !== null) return ['Firing', 'bad']
  if (breachedSince !== null) return ['Pending', 'warn']
  return value === null ? ['Not measured', 'plain'] : ['OK', 'good']
}

function RuleForm({ rule, onDone }: { rule: RuleState; onDone: () => Promise<void> }) {
  const { name, unit } = rule
  const [isOn, setOn] = useState(rule.isOn)
  const [threshold, setThreshold] = useState(rule.isDefault ? '' : String(rule.threshold))
  const save = async () => {
    const number = threshold.trim() === '' ? null : Number(threshold)
    await send(`alerts/rules/${name}`, { isOn, threshold: number })
    await onDone()
  }
  return (
    <div class="filters">
      <Checkbox label="Send this alert" checked={isOn} onChange={setOn} />
      {unit !== '' && (
        <TextField
          label={`Threshold (${unit})`}
          hint="empty: the default"
          inputMode="decimal"
          value={threshold}
          onChange={setThreshold}
        />
      )}
      <Action run={save}>Save</Action>
    </div>
  )
}

/** Firing alerts first. */
function byUrgency(a: RuleState, b: RuleState): number {
  return Number(b.firedAt !== null) - Number(a.firedAt !== null)
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
