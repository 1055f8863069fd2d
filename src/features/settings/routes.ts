import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { varyBy } from '../../platform/http/cors.ts'
import { DataOf, responses } from '../../platform/http/envelope.ts'
import { cached, createPublicCache, sendPublic } from '../../platform/http/public-reply.ts'
import { type AudienceDeps, createAudienceReader } from './audience.ts'
import { ANYONE, type FeatureValues, type Trait, traitsOf, valuesFor } from './conditions.ts'
import { AppSettingsReply, type StoredSettings } from './model.ts'
import type { Settings } from './service.ts'

const MAX_AGE_SECONDS = 60

export function settingsRoutes({ settings, ...deps }: AudienceDeps & { settings: Settings }) {
  const render = createPublicCache(replyWith)
  const traitsBySettings = new WeakMap<StoredSettings, Trait[]>()
  const audienceReader = createAudienceReader(deps)
  return new Elysia({ name: 'settings' }).get(
    '/api/user/app_settings/v1',
    async ({ request, server, set }) => {
      const stored = await settings.read()
      const traits = traitsBySettings.get(stored) ?? cacheTraits(stored)
      if (traits.length === 0) return sendPublic(render(stored), { request, set }, MAX_AGE_SECONDS)
      const values = valuesFor(
        stored.features,
        await audienceReader.read(request, server as Server<unknown> | null, traits),
      )
      for (const header of audienceReader.headersFor(traits)) varyBy(set, header)
      const isPrivate = traits.includes('id')
      return sendPublic(render(stored, JSON.stringify(values)), { request, set }, MAX_AGE_SECONDS, {
        isPrivate,
      })
    },
    {
      response: responses(DataOf(AppSettingsReply), 400, 503),
      detail: {
        ...cached,
        tags: ['App'],
        operationId: 'readAppSettings',
        summary: 'App settings',
        description:
          'The settings that an app reads before a user signs in. Send `App-Platform`, `App-Version` and `Device-Id` if settings depend on them.',
      },
    },
  )

  function cacheTraits(stored: StoredSettings): Trait[] {
    const traits = traitsOf(stored.features)
    traitsBySettings.set(stored, traits)
    return traits
  }
}

/** `values`: the custom settings for this request as JSON; empty when everyone gets the same values. */
function replyWith({ features, ...fixed }: StoredSettings, values: string) {
  const custom: FeatureValues = values === '' ? valuesFor(features, ANYONE) : JSON.parse(values)
  return Object.keys(custom).length === 0 ? fixed : { ...fixed, features: custom }
}
