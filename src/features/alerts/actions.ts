import { t } from 'elysia'
import { UsageError } from '../../lib/command.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import type { Alerts } from './service.ts'

type Needs = { alerts: Alerts }

const set = defineAction({
  name: 'alerts.set',
  summary: 'Turn an alert rule on or off, or change its threshold',
  label: 'Changed alert',
  role: 'operator',
  input: closedObject({
    rule: t.String({ maxLength: 100 }),
    isOn: t.Optional(t.Boolean({ field: { label: 'Send this alert' } })),
    threshold: t.Optional(t.Union([t.Number(), t.Null()], { field: { placeholder: 'Default' } })),
  }),
  console: 'alerts/rules/:rule',
  form: { verb: 'Edit', isReversible: true },
  work: async ({ alerts }: Needs, { rule, ...setting }) => ({
    rule,
    ...(await alerts.set(rule, setting)),
  }),
  audit: ({ rule, before, after }) => ({ target: rule, before, after }),
  show: ({ after }) => after,
  command: {
    arguments: { rule: '<rule>' },
    options: [
      ['--on', 'turn it on'],
      ['--off', 'turn it off'],
      ['--threshold <number>', 'the new threshold, or "default"'],
    ],
    read: ([rule = ''], { on, off, threshold }) => ({
      rule,
      ...(on || off ? { isOn: Boolean(on) } : {}),
      ...(typeof threshold === 'string' ? { threshold: readThreshold(threshold) } : {}),
    }),
    print: ({ rule, after }) =>
      `${rule} is ${after.isOn ? 'on' : 'off'}, with the threshold ${after.threshold}.`,
  },
})

const test = defineAction({
  name: 'alerts.test',
  summary: 'Send a test alert by e-mail and webhook',
  label: 'Sent a test alert',
  role: 'operator',
  input: closedObject({}),
  console: 'alerts/test',
  form: { verb: 'Send a test alert', done: 'Test alert sent' },
  work: ({ alerts }: Needs) => alerts.sendTest(),
  audit: (sent) => ({ after: sent }),
  command: {
    print: ({ isMailed }) =>
      isMailed
        ? 'The test alert is on its way to ALERT_EMAIL and the webhooks.'
        : 'ALERT_EMAIL is not set: the test alert is sent to webhooks only.',
  },
})

function readThreshold(text: string): number | null {
  if (text === 'default') return null
  const value = Number(text)
  if (!Number.isFinite(value)) throw new UsageError('--threshold must be a number or "default"')
  return value
}

export const alertActions = [set, test]
