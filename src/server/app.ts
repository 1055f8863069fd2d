import { Elysia } from 'elysia'
import { ATTACHMENTS_PATH, attachmentRoutes } from '../features/attachments/routes.ts'
import { billingRoutes } from '../features/billing/routes.ts'
import { contentRoutes } from '../features/content/routes.ts'
import { description, plainPaths, tags, translations } from '../features/index.ts'
import { PlanReply } from '../features/plans/model.ts'
import { plansRoutes } from '../features/plans/routes.ts'
import { ratesRoutes } from '../features/rates/routes.ts'
import { settingsRoutes } from '../features/settings/routes.ts'
import { profileRoutes } from '../features/users/profile/routes.ts'
import { userRoutes } from '../features/users/routes.ts'
import { encryption } from '../platform/encryption/plugin.ts'
import { authenticate } from '../platform/http/authenticate.ts'
import { cors } from '../platform/http/cors.ts'
import { describeApi, docs } from '../platform/http/docs.ts'
import { errors } from '../platform/http/errors.ts'
import { health } from '../platform/http/health.ts'
import { home } from '../platform/http/home.ts'
import { host } from '../platform/http/host.ts'
import { jwks } from '../platform/http/jwks.ts'
import { metricsRoute } from '../platform/http/metrics.ts'
import { observe } from '../platform/http/request-log.ts'
import { createBaseUrlOf } from '../platform/http/request-url.ts'
import { allowedMethodsOf } from '../platform/http/routing.ts'
import {
  createTranslator,
  type Translator,
  translatedReplies,
} from '../platform/http/translator.ts'
import { VERSION } from '../version.ts'
import { createConsole } from './console.ts'
import type { Services } from './services.ts'

/** The routes by path and method, with the types of what they take and answer. */
export type Routes = ReturnType<typeof createApi>['~Routes']

/** The whole HTTP surface, in the order in which a request meets it. */
export function createApp(services: Services) {
  const {
    log,
    metrics,
    config,
    appName,
    readiness,
    encryptionKeys: keys,
    replayGuard,
    ipOf,
    now,
  } = services
  const { isTls } = config
  // It looks for the path behind as many characters as `http://` has, or with the short cut four more, which is
  // behind `https://` and three: `host` refuses shorter ones there, or another path than we judge would be routed.
  const app = new Elysia({ normalize: false, handler: { standardHostname: isTls } })
  const translator = createTranslator(translations)
  const api = createApi(services, translator)
  const isRequired = config.payloadEncryption === 'required'
  const uploadPath = ATTACHMENTS_PATH
  const server = config.baseUrl ?? '/'
  const isConsoleHere = config.console && config.consolePort === null
  const hasOperators = services.operators.accounts.exist
  return app
    .use(errors({ log, allowedMethods: (path) => allowedMethodsOf(app, path), translator }))
    .use(observe({ log, metrics, isTls }))
    .use(host())
    .use(cors({ origins: config.corsOrigins, log }))
    .use(
      encryption({
        keys,
        replayGuard,
        uploadPath,
        isRequired,
        hasLimits: config.rateLimits,
        plainPaths,
        ipOf,
        now,
        log,
      }),
    )
    .use(docs((isSimple) => describeApi(api, VERSION, { description, tags, server, isSimple })))
    .use(health(readiness))
    .use(metricsRoute({ metrics, token: config.metricsToken }))
    .use(home({ appName, version: VERSION, hasConsole: isConsoleHere, hasOperators }))
    .use(api)
    .use(isConsoleHere ? createConsole(services) : new Elysia())
}

/** The operator's console alone, for a port of its own. */
export function createConsoleApp(services: Services) {
  const { log, metrics, config } = services
  const { isTls } = config
  const app = new Elysia({ normalize: false, handler: { standardHostname: isTls } })
  const translator = createTranslator(translations)
  return app
    .use(errors({ log, allowedMethods: (path) => allowedMethodsOf(app, path), translator }))
    .use(observe({ log, metrics, isTls }))
    .use(host())
    .get('/', ({ redirect }) => redirect('/console'))
    .use(createConsole(services))
}

/** What is documented: the routes that apps and the billing provider call. */
function createApi(services: Services, translator: Translator) {
  const { languageOf, say: translate } = translator
  const { config, ipOf, countryOf, checkSession, now, deleteAccount, exportData, publicKeys } =
    services
  const { users, profile, attachments, listing, staging, settings, plans, rates, content } =
    services
  const { billing, subscription, appName, admitUpload } = services
  const { countryHeader } = config
  const { webhookTokens: tokens, webhookSigningSecret: signingSecret } = config
  const showsSandbox = config.billingSandbox === 'separate'
  const baseUrlOf = createBaseUrlOf(config.baseUrl)
  const signedIn = authenticate(checkSession)
  return (
    new Elysia({ name: 'api', normalize: false })
      .use(jwks({ publicKeys }))
      .use(translatedReplies(translator))
      // Those that need no token come before those that look for one in every request.
      .use(settingsRoutes({ settings, countryHeader, countryOf, checkSession }))
      .use(plansRoutes({ plans }))
      .use(ratesRoutes({ rates }))
      .use(contentRoutes({ content }))
      .use(
        userRoutes({
          users,
          ipOf,
          baseUrlOf,
          deleteAccount,
          appName,
          languageOf,
          translate,
          signedIn,
        }),
      )
      .use(profileRoutes({ profile, deleteAccount, exportData, baseUrlOf, signedIn }))
      .use(
        attachmentRoutes({ attachments, listing, staging, admitUpload, baseUrlOf, ipOf, signedIn }),
      )
      .use(
        billingRoutes({
          planSchema: PlanReply,
          billing,
          subscription,
          tokens,
          signingSecret,
          showsSandbox,
          now,
          signedIn,
        }),
      )
  )
}
