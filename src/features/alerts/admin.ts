import { Elysia, t } from 'elysia'
import { json } from '../../platform/http/body/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject, data, nullable } from '../../platform/http/replies/envelope.ts'
import type { Alerts } from './service.ts'

const RuleParam = closedObject({ rule: t.String({ maxLength: 100 }) })
const SettingBody = closedObject({
  isOn: t.Optional(t.Boolean()),
  threshold: t.Optional(nullable(t.Number())),
})

/** The alert rules: their states and settings. */
export function alertsAdmin({ alerts, record }: { alerts: Alerts; record: RecordAction }) {
  return new Elysia({ name: 'alerts-admin', prefix: `${CONSOLE_API}/alerts` })
    .get('', async () => data(await alerts.list()), allow('reader'))
    .post(
      '/test',
      async ({ request }) => {
        const sent = await alerts.sendTest()
        await record(request, { action: 'alerts.test' })
        return data(sent)
      },
      allow('operator'),
    )
    .post(
      '/rules/:rule',
      async ({ request, params: { rule }, body }) => {
        const changes = await alerts.set(rule, body)
        await record(request, { action: 'alerts.set', target: rule, ...changes })
        return data(changes.after)
      },
      { params: RuleParam, ...json(SettingBody), ...allow('operator') },
    )
}
