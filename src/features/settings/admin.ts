import { Elysia, t } from 'elysia'
import { check } from '../../lib/validation.ts'
import { json } from '../../platform/http/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject, data, nullable } from '../../platform/http/envelope.ts'
import { publicationAdmin } from '../../platform/publications/admin.ts'
import { Features, valuesFor } from './conditions.ts'
import { StoredSettings } from './model.ts'
import type { Settings } from './service.ts'

const text = nullable(t.String({ maxLength: 200 }))
const Preview = closedObject({
  features: t.Any(),
  as: closedObject({
    platform: text,
    version: text,
    languages: t.Array(t.String({ maxLength: 35 }), { maxItems: 10 }),
    country: text,
    id: text,
  }),
})

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
      ({ body }) => data(valuesFor(check(Features, body.features, 'features'), body.as)),
      { ...json(Preview), ...allow('reader') },
    )
}
