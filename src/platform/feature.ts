import type { AnyElysia, TSchema } from 'elysia'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import type { DataCommand } from '../lib/command.ts'
import type { Log } from '../lib/log/log.ts'
import type { Passwords } from '../lib/passwords/passwords.ts'
import type { AnyAction } from './actions/action.ts'
import type { ConditionList } from './conditions/condition.ts'
import type { Columns, UsersTable } from './db/columns.ts'
import type { Db } from './db/db.ts'
import type { RecordByKey, ScopeGuard } from './http/api-key-guard.ts'
import type { authenticate, CheckSession } from './http/authenticate.ts'
import type { RecordAction } from './http/console-guard.ts'
import type { Sentences } from './http/language/translator.ts'
import type { FindCountry, FindIp } from './http/request/client-address.ts'
import type { Job } from './jobs/jobs.ts'
import type { Limits } from './limits/limits.ts'
import type { AnyList, Names } from './lists/list.ts'
import type { MetricList } from './metrics/metrics.ts'
import type { Registry } from './metrics/registry.ts'
import type { ServedQueue } from './queue/jobs.ts'
import type { UserTable } from './user-table.ts'

/** One area of the product, such as billing. `server/features.ts` lists the features. */
export type Feature = Declarations & {
  /** `needs` are services of other features. */
  create: (platform: never, needs: never) => FeatureParts
}

/** A feature's static declarations, available before it is created. */
export type Declarations = {
  tables: (columns: Columns, users: UsersTable) => object
  /** The commands that only read and are not lists. */
  commands: readonly DataCommand<never>[]
  actions?: readonly AnyAction[]
  /** The lists that operators can read. */
  lists?: readonly AnyList[]
  /** Labels of audit log entries that are not actions, by name; the target follows. */
  auditEvents?: Record<string, string>
  conditions?: ConditionList
  /** The metrics at `/metrics`; each names the services that it reads. */
  metrics?: MetricList<never>
  /** Translations of sentences that users see, by language. */
  translations?: Record<string, Sentences>
  /** The tags of its routes in the OpenAPI document, with their descriptions. */
  tags?: Record<string, string>
  /** The tags of its routes in the document of the server API. */
  serverTags?: Record<string, string>
  /** Schemas of the members that it adds to a user's export. */
  exportMembers?: Record<string, TSchema>
  /** Models of the client package, by the names that apps import; `bun run reference` lists their types. */
  clientModels?: Record<string, TSchema>
  /** Paths that accept plain requests even where payloads must be encrypted. */
  plainPaths?: string[]
}

/** What a feature contributes to a running server: the result of its `create`. */
export type FeatureParts = {
  /** The services that other features, commands and tests call, by name. */
  services: object
  routes?: (context: RouteContext) => AnyElysia
  consoleRoutes?: (context: ConsoleContext) => AnyElysia
  /** The routes that the app's other servers call with an API key. */
  serverRoutes?: (context: ServerContext) => AnyElysia
  jobs?: Job[]
  queues?: ServedQueue[]
  /** By table name: every table with a column that refers to a user. */
  userData?: Record<string, UserTable>
}

/** Each feature picks the fields that it needs. */
export type Platform<Database extends Db<unknown>> = {
  config: Config
  secrets: Secrets
  db: Database
  log: Log
  now: () => Date
  newId: () => string
  /** Counts for `/metrics` and the charts. */
  registry: Registry
  limits: Limits
  passwords: Passwords
  /** The app's name in e-mails, passkeys and authenticator apps. */
  appName: string
}

export type RouteContext = {
  /** Adds `signedIn: true`, which requires a session. */
  signedIn: ReturnType<typeof authenticate>
  checkSession: CheckSession
  findBaseUrl: (request: Request) => string
  findIp: FindIp
  findCountry: FindCountry
  /** The best translated language for a request. */
  chooseLanguage: (request: Request) => string
  translate: (sentence: string, language: string) => string
}

export type ServerContext = {
  /** Adds `scope: '…'`, which requires an API key with that scope. */
  scopeGuard: ScopeGuard
  recordByKey: RecordByKey
  findBaseUrl: (request: Request) => string
}

export type ConsoleContext = {
  record: RecordAction
  isSignedIn: (request: Request) => Promise<boolean>
  findBaseUrl: (request: Request) => string
  findUserNames: FindNames
}

/** The names or e-mail addresses of those `ids` that belong to users, by id; empty for guests. */
type FindNames = (ids: (string | null)[]) => Promise<Names>
