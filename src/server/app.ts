import { type AnyElysia, Elysia } from 'elysia'
import { formatFirstCommand } from '../config/command-line.ts'
import { ATTACHMENTS_PATH } from '../features/attachments/routes.ts'
import { mailLinkPaths } from '../features/users/feature.ts'
import { restarting } from '../lib/errors.ts'
import { serverActions } from '../platform/actions/server-routes.ts'
import { wellKnown, wellKnownFiles } from '../platform/app-links.ts'
import { encryption } from '../platform/encryption/plugin.ts'
import type { RouteContext } from '../platform/feature.ts'
import { findCaller, type RecordByKey, requireKey } from '../platform/http/api-key-guard.ts'
import { authenticate } from '../platform/http/authenticate.ts'
import { cors } from '../platform/http/cors.ts'
import { clientPackage, describeClientPackage } from '../platform/http/docs/client-package.ts'
import { describeApi, docs, docsFiles } from '../platform/http/docs/docs.ts'
import { nativeClients } from '../platform/http/docs/native-clients.ts'
import { health } from '../platform/http/health.ts'
import { jwks } from '../platform/http/jwks.ts'
import {
  createTranslator,
  type Translator,
  translatedReplies,
} from '../platform/http/language/translator.ts'
import { metricsRoute } from '../platform/http/metrics.ts'
import { isForConsole } from '../platform/http/pages/console-page.ts'
import { home } from '../platform/http/pages/home.ts'
import { errors, findAllowedMethods } from '../platform/http/replies/errors.ts'
import type { FindCountry } from '../platform/http/request/client-address.ts'
import { host } from '../platform/http/request/host.ts'
import { singleParameters } from '../platform/http/request/query.ts'
import { observe, requestInfo } from '../platform/http/request/request-log.ts'
import { createBaseUrlReader, type FromProxy } from '../platform/http/request/request-url.ts'
import { publicUrl } from '../platform/public-url.ts'
import { VERSION } from '../version.ts'
import { createConsole } from './console.ts'
import { actions, plainPaths, serverTags, tags, translations } from './declarations.ts'
import type { Services } from './services.ts'

const description = `Sign in under \`/api/auth\` and send the access token as \`Authorization: Bearer <token>\`.
Every response body is \`{ code, response }\` or \`{ code, message }\`; every failure is \`{ code, message, requestId, details? }\`.
Every request accepts the headers \`env\`, \`device\`, \`timezone\` and \`Accept-Language\`, described in \`x-common-headers\`: set them once, as default headers of your client.
If the \`env\` header is anything other than \`test\`, requests and responses are sealed (JWE); these schemas then describe the sealed content.`

const serverAbout = {
  title: 'Homeport server API',
  description: `For the app’s other servers. Send an API key as \`Authorization: Bearer hp_…\`; \`x-scope\` names the scope that an operation requires.
Responses have the same form as those for apps, except token introspection, which follows RFC 7662.`,
  tags: serverTags,
}

/** Adds the plugins in the order in which they handle a request. */
export function createApp(services: Services) {
  const { log, metrics, config, appName, readiness, replayGuard, findIp, now } = services
  const translator = createTranslator(translations)
  const app = createBase(services, translator)
  const isFromProxy = (request: Request) => services.isFromProxy(request, app.server)
  const findCountry = (request: Request) => services.findCountry(request, app.server)
  const api = createApi(services, translator, isFromProxy, findCountry)
  const isRequired = config.payloadEncryption === 'required'
  const uploadPath = ATTACHMENTS_PATH
  const about = { version: VERSION, server: config.baseUrl ?? '/' }
  const serverApi = createServerApi(services, translator, isFromProxy)
  const servesConsole = config.console && config.consolePort === null
  const hasOperators = services.operators.accounts.hasAny
  if (servesConsole) serveConsole(app, services)
  return app
    .use(cors({ origins: config.corsOrigins, log }))
    .use(
      encryption({
        keys: services.encryptionKeys,
        replayGuard,
        uploadPath,
        isRequired,
        hasLimits: config.rateLimits,
        plainPaths,
        findIp,
        now,
        log,
      }),
    )
    .use(docsFiles())
    .use(
      docs('/docs', async (isSimple) => {
        const install = config.clientPackage ? await describeClientPackage(publicUrl(config)) : ''
        const complete = description + install
        return describeApi(api, { ...about, description: complete, tags, isSimple })
      }),
    )
    .use(
      docs('/docs/server', (isSimple) =>
        describeApi(serverApi, { ...about, ...serverAbout, isSimple }),
      ),
    )
    .use(config.clientPackage ? clientPackage().use(nativeClients()) : new Elysia())
    .use(health(readiness))
    .use(metricsRoute({ metrics, token: config.metricsToken }))
    .use(wellKnown(wellKnownFiles(config, mailLinkPaths(config))))
    .use(
      home({
        appName,
        version: VERSION,
        hasClient: config.clientPackage,
        hasConsole: servesConsole,
        hasOperators,
        firstCommand: (isLocal) => formatFirstCommand(config, isLocal),
      }),
    )
    .use(api)
    .use(serverApi)
}

/** Answers all requests while the next process has taken over the data but does not serve yet. */
export function createRestartingApp({ log, metrics, config, appName }: Services) {
  const translator = createTranslator(translations)
  return new Elysia({ normalize: false })
    .use(errors({ log, allowedMethods: () => [], translator, appName }))
    .use(observe({ log, metrics, isTls: config.isTls }))
    .use(cors({ origins: config.corsOrigins, log }))
    .all(
      '/*',
      () => {
        throw restarting()
      },
      { parse: 'none' },
    )
}

/** Passes requests for the console to its own app. Most processes never create it. */
function serveConsole(app: AnyElysia, services: Services) {
  let consoleApp: AnyElysia | null = null
  app.wrap((next, request) => (isForConsole(request) ? answer : next))

  function answer(request: Request) {
    consoleApp ??= createConsoleApp(services)
    consoleApp.server = app.server
    return consoleApp.fetch(request)
  }
}

/** The console on its own, including for a separate port. */
export function createConsoleApp(services: Services) {
  const app = createBase(services, createTranslator(translations))
  return app
    .get('/', ({ redirect }) => redirect('/console'))
    .use(createConsole(services, (request) => services.isFromProxy(request, app.server)))
}

/** An app with the plugins that handle a request first. */
function createBase({ log, metrics, config, appName }: Services, translator: Translator) {
  const { isTls } = config
  // Elysia searches for the path after the first 7 characters of the URL (`http://`), or with `standardHostname`
  // after the first 11. `host` refuses shorter hosts: Elysia would route a different path from the one we check.
  const app = new Elysia({ normalize: false, handler: { standardHostname: isTls } })
  return app
    .use(
      errors({ log, allowedMethods: (path) => findAllowedMethods(app, path), translator, appName }),
    )
    .use(observe({ log, metrics, isTls }))
    .use(host())
    .use(singleParameters(app))
}

function createServerApi(
  services: Services,
  translator: Translator,
  isFromProxy: FromProxy,
): AnyElysia {
  const { apiKeys, operators, config, networkCheck, findIp, now } = services
  const recordByKey: RecordByKey = (request, entry) => {
    const { key, readIp } = findCaller(request)
    return operators.audit.record({
      ...entry,
      operator: `API key ${key}`,
      origin: readIp(),
      requestId: requestInfo(request).id,
    })
  }
  const scopeGuard = requireKey({ findKey: apiKeys.find, networkCheck, findIp, now })
  const findBaseUrl = createBaseUrlReader(config.filesPublicUrl ?? config.baseUrl, isFromProxy)
  const context = { scopeGuard, recordByKey, findBaseUrl }
  const api: AnyElysia = new Elysia({ name: 'server-api', normalize: false }).use(
    translatedReplies(translator),
  )
  for (const { serverRoutes } of services.parts) if (serverRoutes) api.use(serverRoutes(context))
  return api.use(serverActions(actions, { services, ...context }))
}

function createApi(
  services: Services,
  translator: Translator,
  isFromProxy: FromProxy,
  findCountry: FindCountry,
): AnyElysia {
  const { chooseLanguage, translate } = translator
  const { config, checkSession, findIp, publicKeys } = services
  const context: RouteContext = {
    signedIn: authenticate(checkSession),
    checkSession,
    findBaseUrl: createBaseUrlReader(config.baseUrl, isFromProxy),
    findIp,
    findCountry,
    chooseLanguage,
    translate,
  }
  const api: AnyElysia = new Elysia({ name: 'api', normalize: false })
    .use(jwks({ publicKeys }))
    .use(translatedReplies(translator))
  for (const { routes } of services.parts) if (routes) api.use(routes(context))
  return api
}
