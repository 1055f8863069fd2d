import { Elysia, t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { ConsoleContext } from '../../platform/feature.ts'
import { json } from '../../platform/http/body/body.ts'
import { allow, CONSOLE_API, findOperator } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { readSlices } from '../../platform/lists/csv.ts'
import type { ListedUser } from './accounts/directory.ts'
import type { FindUsers } from './accounts/find-users.ts'
import { MAX_NOTE_LENGTH } from './accounts/notes.ts'
import { FILTERS, readFilter } from './accounts/user-filter.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type UsersAdminDeps = {
  users: Users
  profile: Profile
  limits: Limits
  findUsers: FindUsers
  /** What a user has access to, and why. */
  accessOf: (userId: string) => Promise<unknown>
  now: () => Date
  exportData: (userId: string) => Promise<Record<string, unknown>>
  deleteAccount: (userId: string) => Promise<unknown>
} & Pick<ConsoleContext, 'record' | 'exportCsv'>

const IdParam = closedObject({ id: t.String({ maxLength: 100 }) })
const SessionParams = closedObject({
  id: t.String({ maxLength: 100 }),
  session: t.String({ maxLength: 100 }),
})
const NoteParams = closedObject({
  id: t.String({ maxLength: 100 }),
  note: t.String({ maxLength: 100 }),
})
const NoteBody = closedObject({ text: t.String({ maxLength: MAX_NOTE_LENGTH }) })
const filterText = t.Optional(t.String({ maxLength: 100 }))
const SearchQuery = closedObject({
  q: t.Optional(t.String({ maxLength: 300 })),
  after: t.Optional(t.String({ maxLength: 400 })),
  ...(Object.fromEntries(Object.keys(FILTERS).map((name) => [name, filterText])) as {
    [name in keyof typeof FILTERS]: typeof filterText
  }),
})
/** The operator confirms a deletion by typing the user's address, or a guest's id. */
const Confirmation = closedObject({ confirm: t.String({ maxLength: 400 }) })

/** Lets operators find and help users. */
export function userAdmin(deps: UsersAdminDeps) {
  const { users, profile, limits, findUsers, accessOf, exportData, deleteAccount } = deps
  const { record, exportCsv } = deps
  const { accounts, directory, devices, identities, addresses, accountSecurity, twoFactor } = users
  return new Elysia({ name: 'people-admin', prefix: `${CONSOLE_API}/people` })
    .get(
      '',
      async ({ query: { q = '', after, ...texts } }) => {
        const filter = readFilter(texts, deps.now())
        return data(await findUsers(q, { after, filter }))
      },
      { query: SearchQuery, ...allow('reader') },
    )
    .get(
      '/export.csv',
      (context) => {
        const { q = '', after: _first, ...texts } = context.query
        const filter = readFilter(texts, deps.now())
        const read = readSlices('users', async (slice) => {
          const found = await findUsers(q, { ...slice, filter })
          if ('hasMoreNames' in found && found.hasMoreNames) throw tooManyNames()
          return found
        })
        return exportCsv(context, { name: 'people', isPersonal: true, columns: COLUMNS, read })
      },
      { query: SearchQuery, ...allow('operator', 'stepUp') },
    )
    .get(
      '/:id/sessions/export.csv',
      (context) => {
        const { id } = context.params
        const list = { name: 'sessions', isPersonal: true, columns: SESSION_COLUMNS, target: id }
        return exportCsv(context, { ...list, read: () => devices.list(id, '') })
      },
      { params: IdParam, ...allow('operator', 'stepUp') },
    )
    .get(
      '/:id',
      async ({ params: { id } }) => {
        const account = await directory.find(id)
        const applicable = [
          ...users.proof.limitsOf(account),
          ...users.emailCodes.limitsOf(account),
          ...twoFactor.limitsOf(account.id),
        ]
        const activeLimits = await limits.activeLimits(applicable)
        return data({
          user: await profile.read(account.id, ''),
          account: await accounts.describe(account.id),
          access: await accessOf(account.id),
          identities: await identities.list(account.id),
          passkeys: await users.passkeys.list(account.id),
          sessions: await devices.list(account.id, ''),
          notes: await users.notes.list(account.id),
          limits: activeLimits.map(({ name, until }) => ({ name, until: until.toISOString() })),
        })
      },
      { params: IdParam, ...allow('reader') },
    )
    .post(
      '/:id/notes',
      async ({ request, params, body }) => {
        const { id } = await directory.find(params.id)
        const note = await users.notes.add(id, body.text, findOperator(request).name)
        // Not the text, which is deleted with the user.
        await record(request, { action: 'user.add-note', target: id, after: { note } })
        return data({ note })
      },
      { params: IdParam, ...json(NoteBody), ...allow('operator') },
    )
    .post(
      '/:id/notes/:note/delete',
      async ({ request, params: { id, note } }) => {
        await users.notes.remove(id, note)
        await record(request, { action: 'user.delete-note', target: id, before: { note } })
        return data(null)
      },
      { params: NoteParams, ...allow('operator') },
    )
    .post(
      '/:id/sign-out',
      async ({ request, params }) => {
        const { id } = await directory.find(params.id)
        const { length } = await devices.list(id, '')
        await accountSecurity.signOut(id)
        await record(request, { action: 'user.sign-out', target: id, before: { sessions: length } })
        return data({ ended: length })
      },
      { params: IdParam, ...allow('operator') },
    )
    .post(
      '/:id/sessions/:session/end',
      async ({ request, params: { id, session } }) => {
        await devices.end(id, session)
        await record(request, { action: 'user.end-session', target: id, before: { session } })
        return data(null)
      },
      { params: SessionParams, ...allow('operator') },
    )
    .post(
      '/:id/send-verification',
      async ({ request, params: { id } }) => {
        const account = await directory.find(id)
        await addresses.resend(account.id, null)
        await record(request, { action: 'user.send-verification', target: account.id })
        return data(null)
      },
      { params: IdParam, ...allow('operator') },
    )
    .post(
      '/:id/verify',
      async ({ request, params: { id } }) => {
        const account = await directory.find(id)
        await directory.setEmailVerified(account, true)
        const before = { verified: account.emailVerifiedAt !== null }
        const after = { verified: true }
        await record(request, { action: 'user.verify', target: account.id, before, after })
        return data(null)
      },
      { params: IdParam, ...allow('operator', 'stepUp') },
    )
    .post(
      '/:id/two-factor/reset',
      async ({ request, params: { id } }) => {
        const account = await directory.find(id)
        await twoFactor.reset(account.id)
        const [before, after] = [{ twoFactor: true }, { twoFactor: false }]
        await record(request, {
          action: 'user.reset-two-factor',
          target: account.id,
          before,
          after,
        })
        return data(null)
      },
      { params: IdParam, ...allow('operator', 'stepUp') },
    )
    .get(
      '/:id/export',
      async ({ request, params, set }) => {
        const { id } = await directory.find(params.id)
        const exported = await exportData(id)
        await record(request, { action: 'user.export', target: id })
        set.headers['content-disposition'] = `attachment; filename="${id}.json"`
        return exported
      },
      { params: IdParam, ...allow('operator', 'stepUp') },
    )
    .post(
      '/:id/delete',
      async ({ request, params, body }) => {
        const { id, email, createdAt } = await directory.find(params.id)
        if (body.confirm !== (email ?? id)) {
          throw new AppError('validation_failed', 'Nothing was deleted.', {
            details: [{ path: 'confirm', message: 'must be the account’s e-mail address or id' }],
          })
        }
        await deleteAccount(id)
        const before = { createdAt: createdAt.toISOString() }
        await record(request, { action: 'user.delete', target: id, before })
        return data(null)
      },
      { params: IdParam, ...json(Confirmation), ...allow('operator', 'stepUp') },
    )
}

type Session = Awaited<ReturnType<Users['devices']['list']>>[number]

/** The columns of exported lists. */
const COLUMNS: Record<string, (user: ListedUser) => unknown> = {
  user_id: ({ id }) => id,
  email: ({ email }) => email,
  name: ({ name }) => name,
  sign_in: ({ loginType }) => loginType,
  email_verified: ({ emailVerified }) => emailVerified,
  registered: ({ createdAt }) => createdAt,
  last_seen: ({ lastSeenAt }) => lastSeenAt,
  status: ({ status }) => status,
  plan: ({ plan }) => plan,
  platform: ({ platform }) => platform,
  country: ({ country }) => country,
}
const SESSION_COLUMNS: Record<string, (session: Session) => unknown> = {
  device: ({ device }) => device,
  last_used: ({ lastUsedAt }) => lastUsedAt,
  signed_in: ({ createdAt }) => createdAt,
}

function tooManyNames(): AppError {
  return new AppError(
    'validation_failed',
    'More users have this name than a search lists. Add another word of the name.',
  )
}
