import { type AnyElysia, Elysia } from 'elysia'
import { attachmentRoutes } from './features/attachments/routes.ts'
import { authRoutes } from './features/auth/routes.ts'
import { billingRoutes } from './features/billing/routes.ts'
import { contentRoutes } from './features/content/routes.ts'
import { plansRoutes } from './features/plans/routes.ts'
import { profileRoutes } from './features/profile/routes.ts'
import { ratesRoutes } from './features/rates/routes.ts'
import { settingsRoutes } from './features/settings/routes.ts'
import { authenticate } from './http/authenticate.ts'
import { describeApi, docs } from './http/docs.ts'
import { errors } from './http/errors.ts'
import { health } from './http/health.ts'
import { observe } from './http/observe.ts'
import { allowedMethodsOf } from './http/routing.ts'
import type { Services } from './services.ts'
import { VERSION } from './version.ts'

export type App = ReturnType<typeof createApp>

/** The whole HTTP surface, in the order in which a request meets it. */
export function createApp(services: Services) {
  const { log, config, checkSession, readiness } = services
  const signedIn = authenticate(checkSession)
  const app = new Elysia({ normalize: false })
    .use(errors({ log, allowedMethods: (path): string[] => allowedMethodsOf(router(), path) }))
    .use(observe({ log }))
    .use(docs(() => describeApi(api, VERSION)))
    .use(health(readiness))
  const api = new Elysia({ name: 'api', normalize: false })
    .use(authRoutes({ ...services, signedIn }))
    .use(profileRoutes({ ...services, signedIn }))
    .use(attachmentRoutes({ ...services, baseUrl: config.baseUrl, signedIn }))
    .use(settingsRoutes(services))
    .use(plansRoutes(services))
    .use(ratesRoutes(services))
    .use(contentRoutes(services))
    .use(
      billingRoutes({
        ...services,
        tokens: config.webhookTokens,
        signingSecret: config.webhookSigningSecret,
        showsSandbox: config.billingSandbox === 'separate',
        signedIn,
      }),
    )
  app.use(api)
  return app

  function router(): AnyElysia {
    return app
  }
}
