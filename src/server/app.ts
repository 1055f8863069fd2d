import { type AnyElysia, Elysia } from 'elysia'
import { ATTACHMENTS_PATH } from '../features/attachments/routes.ts'
import { encryption } from '../platform/encryption/plugin.ts'
import type { RouteContext } from '../platform/feature.ts'
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
import { plainPaths, tags, translations } from './features.ts'
import type { Services } from './services.ts'

/** The description of the whole API in the OpenAPI document. */
const description = `Sign in under \`/api/auth\` and send the access token as \`Authorization: Bearer <token>\`.
Every reply is \`{ code, response }\` or \`{ code, message }\`; every failure is \`{ code, message, requestId, details? }\`.
Every request accepts the headers \`env\`, \`device\`, \`timezone\` and \`Accept-Language\`, described in \`x-common-headers\`: set them once, as default headers of your client.
If the \`env\` header is anything other than \`test\`, requests and replies are sealed (JWE); these schemas then describe the sealed content.`

/** All routes and hooks, in the order in which they handle a request. */
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
  // Elysia searches for the path after the first 7 characters of the URL (`http://`), or with `standardHostname`
  // after the first 11. `host` refuses shorter hosts: Elysia would route a different path from the one we check.
  const app = new Elysia({ normalize: false, handler: { standardHostname: isTls } })
  const translator = createTranslator(translations)
  const api = createApi(services, translator)
  const isRequired = config.payloadEncryption === 'required'
  const uploadPath = ATTACHMENTS_PATH
  const server = config.baseUrl ?? '/'
  const servesConsole = config.console && config.consolePort === null
  const hasOperators = services.operators.accounts.hasAny
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
    .use(home({ appName, version: VERSION, hasConsole: servesConsole, hasOperators }))
    .use(api)
    .use(servesConsole ? createConsole(services) : new Elysia())
}

/** The operators' console on its own, for when it has a separate port. */
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

/** The documented routes, which apps and the billing provider call. */
function createApi(services: Services, translator: Translator): AnyElysia {
  const { languageOf, translate } = translator
  const { config, checkSession, ipOf, countryOf, publicKeys } = services
  const context: RouteContext = {
    signedIn: authenticate(checkSession),
    checkSession,
    baseUrlOf: createBaseUrlOf(config.baseUrl),
    ipOf,
    countryOf,
    languageOf,
    translate,
  }
  const api: AnyElysia = new Elysia({ name: 'api', normalize: false })
    .use(jwks({ publicKeys }))
    .use(translatedReplies(translator))
  for (const { routes } of services.parts) if (routes) api.use(routes(context))
  return api
}
