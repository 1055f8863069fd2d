import { Elysia } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import type { Alerts } from './service.ts'

export function alertsConsole({ alerts }: { alerts: Alerts }) {
  return new Elysia({ name: 'alerts-console' }).get(
    `${CONSOLE_API}/alerts`,
    async () => data(await alerts.list()),
    allow('reader'),
  )
}
