import type { TSchema } from 'elysia'
import type { DeleteAccount } from '../../lib/active-subscriptions.ts'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import { passkeyRelyingParty } from '../../platform/app-links.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Feature, Platform, RouteContext, ServerContext } from '../../platform/feature.ts'
import type { SendMail } from '../../platform/outbox/mailer.ts'
import { createOutbox } from '../../platform/outbox/outbox.ts'
import type { OutboxDb } from '../../platform/outbox/schema.ts'
import { publicUrl } from '../../platform/public-url.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { byForeignKey, nothing } from '../../platform/user-table.ts'
import type { Accounts } from './accounts/accounts.ts'
import { createFindUsers } from './accounts/find-users.ts'
import { userExport } from './accounts/model.ts'
import { type AccessSearch, createUserSearch } from './accounts/user-search.ts'
import { accountActions } from './actions/accounts.ts'
import { noteActions } from './actions/notes.ts'
import { signInActions } from './actions/sign-in.ts'
import { userCommands } from './commands.ts'
import { userConditions } from './conditions.ts'
import { userConsole } from './console.ts'
import type { MailLinks } from './context/context.ts'
import { emailActions } from './email/actions.ts'
import { emailCommands } from './email/commands.ts'
import { emailsConsole } from './email/console.ts'
import { createEmails } from './email/emails.ts'
import type { UserOutbox } from './email/outbox-messages.ts'
import { importUsers } from './import/actions.ts'
import { userJobs } from './jobs.ts'
import { userLists } from './lists.ts'
import { userTags } from './model.ts'
import { profileRoutes } from './profile/routes.ts'
import { createProfile } from './profile/service.ts'
import { userClientModels } from './routes/client-models.ts'
import { userPlainPaths, userRoutes } from './routes.ts'
import { type UsersDb, userTables } from './schema.ts'
import { serverUserTags } from './server/model.ts'
import { serverUserRoutes } from './server/routes.ts'
import { createServerUsers } from './server/service.ts'
import { createIntrospection } from './sessions/introspection.ts'
import { createTokens } from './sessions/tokens.ts'
import { APPLE_URL, createAppleGrants } from './social/apple-grants.ts'
import { createIdentities } from './social/identities.ts'
import {
  createAcceptsIdentity,
  createIdTokenVerifier,
  createOwnsAddress,
  type IdentityProviders,
  knownProviders,
} from './social/identity-providers.ts'
import { userGerman } from './translations.ts'
import { createUsers } from './users.ts'

type Needs = {
  accounts: Accounts
  signingKeys: KeyRing
  sendMail: SendMail
  mergeGuest: (tx: Tx, guestId: string, userId: string) => Promise<void>
  deleteAccount: DeleteAccount
  exportData: (userId: string) => Promise<Record<string, unknown>>
  exportSchema: TSchema
  ownsPublicPicture: Parameters<typeof createProfile>[0]['ownsPublicPicture']
  /** Whether a guest had paid access or stored a file at `since` or later. Idle guests without either are deleted. */
  hasRecentAssets: (userId: string, since: Date) => Promise<boolean>
  findPurchases: Parameters<typeof createFindUsers>[0]['findPurchases']
  isEvent: (id: string) => Promise<boolean>
  access: AccessSearch & { readAccess: Parameters<typeof createFindUsers>[0]['accessOf'] }
  accessOf: (userId: string) => Promise<unknown>
  /** Called in the transaction that ends sessions before they expire. */
  onSessionsEnded: (tx: Tx, sessions: { id: string; userId: string }[]) => Promise<void>
  /** Overridden only in tests. */
  providers?: IdentityProviders | undefined
  appleUrl?: string | undefined
}

const accountsOnly = nothing('guests have no rows in this table')

export const usersFeature = {
  tables: userTables,
  commands: [...userCommands, ...emailCommands],
  lists: userLists,
  actions: [...accountActions, importUsers, ...signInActions, ...noteActions, ...emailActions],
  conditions: userConditions,
  translations: { de: userGerman },
  tags: userTags,
  serverTags: serverUserTags,
  exportMembers: userExport,
  clientModels: userClientModels,
  plainPaths: userPlainPaths,
  create(platform: Platform<UsersDb & OutboxDb & PublicationsDb>, needs: Needs) {
    const { config, secrets, db, appName, now } = platform
    const { accounts, deleteAccount, exportData, ownsPublicPicture, signingKeys } = needs
    const { sealKey, recoveryKey, refreshKey } = secrets
    const outbox: UserOutbox = createOutbox({ ...platform, key: sealKey })
    const ownsAddress = createOwnsAddress(config.oidcEmailDomains)
    const identities = createIdentities({ db, outbox, sealKey, ownsAddress })
    const profile = createProfile({
      db,
      ownsPublicPicture,
      findAccount: accounts.find,
      updateAccount: accounts.update,
      filesPublicUrl: config.filesPublicUrl,
      limits: platform.limits,
    })
    const tokens = createTokens({
      keys: signingKeys,
      refreshKey,
      issuer: config.tokenIssuer ?? config.baseUrl ?? 'homeport',
      audience: config.tokenAudience,
      now,
    })
    const { providers = knownProviders(config.googleClientIds, config.appleClientIds) } = needs
    const openId = readOpenIdConfig(config)
    const isNonceRequired = config.socialNonce === 'required'
    const links = buildMailLinks(config)
    const canSend = config.smtpUrl !== null
    const emails = createEmails({ ...platform, ...needs, links, canSend })
    const users = createUsers({
      ...platform,
      ...needs,
      identities,
      outbox,
      tokens,
      sealKey,
      recoveryKey,
      passwordMinLength: config.passwordMinLength,
      signUpMode: config.signUp,
      relyingParty: passkeyRelyingParty(config),
      alertEmail: config.alertEmail,
      links,
      renderMail: emails.render,
      verifyIdToken: createIdTokenVerifier({
        providers,
        openId,
        ownsAddress,
        isNonceRequired,
        now,
      }),
      acceptsIdentity: createAcceptsIdentity(providers, openId),
      openId,
      apple: providers.apple,
      appleGrants: createAppleGrantsFrom(config, needs.appleUrl ?? APPLE_URL, now),
      readProfile: profile.read,
    })
    const { directory, devices, oneTimeTokens } = users
    const findUsers = createFindUsers({
      ...needs,
      ...directory,
      search: createUserSearch({ db, access: needs.access }),
      accessOf: needs.access.readAccess,
      idsByName: accounts.names.find,
    })
    const { limits } = platform
    // Backups are daily by default, and copies before migrations are kept for 30 days.
    const retention = { audit: config.auditKeepDays, backups: Math.max(30, config.backupKeep) }
    const serverUsers = createServerUsers({ ...users, profile })
    const introspect = createIntrospection({
      checkSession: users.sessions.check,
      describeToken: tokens.toPublicClaims,
    })
    return {
      services: {
        users,
        accounts,
        profile,
        tokens,
        outbox,
        emails,
        findUsers,
        serverUsers,
        findIdByEmail: directory.findId,
        deleteAccount,
        exportData,
      },
      routes: (context: RouteContext) =>
        userRoutes({ users, deleteAccount, appName, retention, ...context }).use(
          profileRoutes({ ...needs, profile, ...context }),
        ),
      serverRoutes: (context: ServerContext) => serverUserRoutes({ users, introspect, ...context }),
      consoleRoutes: () =>
        emailsConsole({ emails }).use(userConsole({ ...needs, users, profile, limits })),
      queues: [outbox],
      jobs: userJobs({ users, names: accounts.names }),
      userData: {
        users: {
          deletion: accounts.remove,
          export: {
            user: (userId: string) => profile.read(userId, publicUrl(config)),
            account: accounts.exportAccount,
          },
          merging: accounts.remove,
        },
        userNames: {
          deletion: byForeignKey,
          export: nothing('derived from the name, which is exported'),
          merging: nothing('a guest’s name is deleted with the guest'),
        },
        identities: {
          deletion: identities.removeAll,
          export: { identities: identities.list },
          merging: accountsOnly,
        },
        sessions: {
          deletion: byForeignKey,
          export: { sessions: (userId: string) => devices.list(userId, '') },
          merging: nothing('the sessions of the guest end'),
        },
        knownDevices: {
          deletion: byForeignKey,
          export: { devices: devices.listKnown },
          merging: nothing('the owner of the account is notified of the new device'),
        },
        oneTimeTokens: {
          deletion: oneTimeTokens.removeAll,
          export: { pending: oneTimeTokens.list },
          merging: accountsOnly,
        },
        passkeys: {
          deletion: byForeignKey,
          export: { passkeys: users.passkeys.list },
          merging: accountsOnly,
        },
        userNotes: {
          deletion: byForeignKey,
          export: { notes: users.notes.list },
          merging: users.notes.move,
        },
        recoveryCodes: {
          deletion: byForeignKey,
          export: nothing('only hashes are stored'),
          merging: accountsOnly,
        },
        outbox: {
          deletion: byForeignKey,
          export: nothing('queued messages, which are sent to the user'),
          merging: accountsOnly,
        },
      },
    }
  },
} satisfies Feature

/** Links in e-mails open the app or one of our pages; never a page if APP_LINK_URL is set but BASE_URL is not. */
function buildMailLinks(config: Platform<UsersDb>['config']): MailLinks {
  const { appLinkUrl, baseUrl } = config
  const page = pagesUrl(config)
  if (appLinkUrl === page) return { app: null, page }
  return { app: appLinkUrl, page: appLinkUrl !== null && baseUrl === null ? null : page }
}

/** The paths on this host that e-mails link to, which apps may open. */
export function mailLinkPaths(config: Platform<UsersDb>['config']): string[] {
  const page = new URL(pagesUrl(config))
  const app = URL.parse(config.appLinkUrl ?? '')
  const bases = app?.origin === page.origin ? [page.pathname, app.pathname] : [page.pathname]
  return [...new Set(bases)].flatMap((base) => MAIL_PAGES.map((name) => `${base}/${name}`))
}

const MAIL_PAGES = ['verify', 'reset', 'cancel']

function pagesUrl(config: Platform<UsersDb>['config']): string {
  return `${publicUrl(config)}/auth`
}

function readOpenIdConfig(config: Platform<UsersDb>['config']) {
  const { oidcIssuer: issuer, oidcClientIds: clientIds, oidcName } = config
  return { issuer, clientIds, name: oidcName ?? (issuer === null ? '' : new URL(issuer).host) }
}

/** Null if Apple's keys are not set. */
function createAppleGrantsFrom(config: Platform<UsersDb>['config'], url: string, now: () => Date) {
  const { appleTeamId: teamId, appleKeyId: keyId, applePrivateKey: privateKey } = config
  if (teamId === null || keyId === null || privateKey === null) return null
  return createAppleGrants({ teamId, keyId, privateKey, url }, now)
}
