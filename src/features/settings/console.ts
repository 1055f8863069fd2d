import { Elysia, t } from 'elysia'
import { json } from '../../platform/http/body/body.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import { PUBLICATION_LIMIT } from '../../platform/publications/actions.ts'
import { publicationViews } from '../../platform/publications/views.ts'
import { AudienceInput, StoredSettings } from './model.ts'
import type { Settings } from './service.ts'

const Preview = closedObject({ content: t.Any(), as: AudienceInput })
const Content = closedObject({ content: t.Any() })

export function settingsConsole({ settings }: { settings: Settings }) {
  return new Elysia({ name: 'settings-console' })
    .use(publicationViews('settings', StoredSettings, settings))
    .post(
      `${CONSOLE_API}/preview/settings`,
      async ({ body }) => data(await settings.explain(body.as, body.content)),
      { ...json(Preview, PUBLICATION_LIMIT), ...allow('reader') },
    )
    .post(
      `${CONSOLE_API}/preview/settings/warnings`,
      async ({ body }) => data(await settings.warn(body.content)),
      { ...json(Content, PUBLICATION_LIMIT), ...allow('reader') },
    )
    .get(
      `${CONSOLE_API}/settings/surroundings`,
      async () => data(await settings.readSurroundings()),
      allow('reader'),
    )
}
