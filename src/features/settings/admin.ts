import { Elysia, t } from 'elysia'
import { json } from '../../platform/http/body/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import { publicationAdmin } from '../../platform/publications/doors.ts'
import { AudienceInput, StoredSettings } from './model.ts'
import type { Settings } from './service.ts'

/** In bytes; as large as a publication. */
const CONTENT_LIMIT = 2 * 1024 * 1024

const Preview = closedObject({ content: t.Any(), as: AudienceInput })
const Content = closedObject({ content: t.Any() })

/** Edits, publishes, rolls back and previews the app settings. */
export function settingsAdmin({ settings, record }: { settings: Settings; record: RecordAction }) {
  const readLive = async () => {
    const { version, settings: content } = await settings.readLive()
    return { version, content }
  }
  const { publish, rollBack, find, history } = settings
  return new Elysia({ name: 'settings-admin' })
    .use(
      publicationAdmin(
        'settings',
        StoredSettings,
        { readLive, publish, rollBack, find, history },
        record,
      ),
    )
    .post(
      `${CONSOLE_API}/preview/settings`,
      async ({ body }) => data(await settings.explain(body.as, body.content)),
      { ...json(Preview, CONTENT_LIMIT), ...allow('reader') },
    )
    .post(
      `${CONSOLE_API}/preview/settings/warnings`,
      async ({ body }) => data(await settings.warn(body.content)),
      { ...json(Content, CONTENT_LIMIT), ...allow('reader') },
    )
    .get(
      `${CONSOLE_API}/settings/surroundings`,
      async () => data(await settings.surroundings()),
      allow('reader'),
    )
}
