import { Elysia } from 'elysia'
import { varyBy } from '../../platform/http/cors.ts'
import { createDataSchema, responses } from '../../platform/http/replies/envelope.ts'
import { cached, createPublicCache, sendPublic } from '../../platform/http/replies/replies.ts'
import { type AudienceDeps, createAudienceReader } from './audience.ts'
import { AppSettingsReply, type StoredSettings } from './model.ts'
import type { Trait } from './rules/conditions.ts'
import {
  listSettings,
  listTraits,
  overridesFor,
  type Setting,
  settingsForApp,
} from './rules/resolution.ts'
import type { Settings } from './service.ts'

/** Revalidated each time: an app must not get older settings than the version that announced them. */
const MAX_AGE_SECONDS = 0

export function settingsRoutes({ settings, ...deps }: AudienceDeps & { settings: Settings }) {
  const render = createPublicCache(replyWith)
  const rulesBySettings = new WeakMap<StoredSettings, { targeted: Setting[]; traits: Trait[] }>()
  const audienceReader = createAudienceReader(deps)
  return new Elysia({ name: 'settings' }).get(
    '/api/user/app_settings/v1',
    async ({ request, set }) => {
      const stored = await settings.read()
      const { targeted, traits } = rulesBySettings.get(stored) ?? cacheRules(stored)
      if (targeted.length === 0)
        return sendPublic(render(stored), { request, set }, MAX_AGE_SECONDS)
      const audience = await audienceReader.read(request, traits)
      const reply = render(stored, JSON.stringify(overridesFor(targeted, audience)))
      for (const header of audienceReader.headersFor(traits, request)) varyBy(set, header)
      // A cache in front of the proxy that adds the country cannot tell the countries apart.
      const isPrivate = traits.some((trait) => ['id', 'plan', 'country'].includes(trait))
      return sendPublic(reply, { request, set }, MAX_AGE_SECONDS, { isPrivate })
    },
    {
      response: responses(createDataSchema(AppSettingsReply), 400),
      detail: {
        ...cached,
        tags: ['App'],
        operationId: 'readAppSettings',
        summary: 'App settings',
        description:
          'The settings that an app reads before a user signs in. Send `App-Platform`, `App-Version` and `Device-Id` if settings depend on them, and `Authorization` once a user is signed in.',
      },
    },
  )

  function cacheRules(stored: StoredSettings) {
    const targeted = listSettings(stored).filter(({ rules }) => rules.length > 0)
    const found = { targeted, traits: listTraits(targeted) }
    rulesBySettings.set(stored, found)
    return found
  }
}

/** `overrides`: the values for this request that differ from the defaults, as JSON. */
function replyWith(stored: StoredSettings, overrides: string) {
  return settingsForApp(stored, overrides === '' ? {} : JSON.parse(overrides))
}
