import { dataCommand, UsageError } from '../../lib/command.ts'
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

const set = dataCommand({
  name: 'alerts set',
  summary: 'Turn an alert rule on or off, or change its threshold',
  arguments: '<rule>',
  options: [
    ['--on', 'turn it on'],
    ['--off', 'turn it off'],
    ['--threshold <number>', 'the new threshold, or "default"'],
  ],
  input: ([rule = ''], { on, off, threshold }) => ({
    rule,
    ...(on || off ? { isOn: Boolean(on) } : {}),
    ...(typeof threshold === 'string' ? { threshold: readThreshold(threshold) } : {}),
  }),
  work: async ({ alerts }: Needs, { rule, ...setting }) => ({
    rule,
    ...(await alerts.set(rule, setting)),
  }),
  print: ({ rule, after }) =>
    `${rule} is ${after.isOn ? 'on' : 'off'}, with the threshold ${after.threshold}.`,
  changes: ({ before, after }) => ({ before, after }),
  target: ({ rule }) => rule,
})

const test = dataCommand({
  name: 'alerts test',
  summary: 'Send a test alert by e-mail and webhook',
  work: ({ alerts }: Needs) => alerts.sendTest(),
  print: ({ isMailed }) =>
    isMailed
      ? 'The test alert is on its way to ALERT_EMAIL and the webhooks.'
      : 'ALERT_EMAIL is not set: the test alert is sent to webhooks only.',
  changes: ({ isMailed }) => ({ isMailed }),
})

export const alertCommands = [list, set, test]

function readThreshold(text: string): number | null {
  if (text === 'default') return null
  const value = Number(text)
  if (!Number.isFinite(value)) throw new UsageError('--threshold must be a number or "default"')
  return value
}
