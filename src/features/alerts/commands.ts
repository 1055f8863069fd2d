import { dataCommand } from '../../lib/command.ts'
import { type Alerts, formatValue } from './service.ts'

type Needs = { alerts: Alerts }

const list = dataCommand({
  name: 'alerts list',
  summary: 'List the alert rules: state, value and threshold',
  work: ({ alerts }: Needs) => alerts.list(),
  print: ({ hasAddress, rules }) =>
    [
      ...rules.map(({ name, isOn, firedAt, value, threshold, unit, isMinimum, title }) => {
        const state = !isOn ? 'off' : firedAt === null ? 'ok' : 'FIRING'
        const measured = value === null ? '-' : formatValue(value)
        const limit = `${isMinimum ? '<' : '>'} ${threshold} ${unit}`.trimEnd()
        return [state, name, measured, limit, title].join('\t')
      }),
      ...(hasAddress ? [] : ['ALERT_EMAIL is not set: alerts are sent to webhooks only.']),
    ].join('\n'),
})

export const alertCommands = [list]
