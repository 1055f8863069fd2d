import { Elysia } from 'elysia'
import { DataOf, responses } from '../../http/envelope.ts'
import { cached, createPublicCache, sendPublic } from '../../http/public-reply.ts'
import { AppSettings } from './model.ts'
import type { Settings } from './service.ts'

const MAX_AGE = 60

export function settingsRoutes({ settings }: { settings: Settings }) {
  const rendered = createPublicCache<AppSettings>()
  return new Elysia({ name: 'settings' }).get(
    '/api/user/app_settings/v1',
    async ({ request, set }) =>
      sendPublic(rendered(await settings.read()), { request, set }, MAX_AGE),
    {
      response: responses(DataOf(AppSettings), 400, 503),
      detail: {
        ...cached,
        tags: ['App'],
        operationId: 'readAppSettings',
        summary: 'App settings',
        description: 'What every copy of the app should know before anybody signs in.',
      },
    },
  )
}
