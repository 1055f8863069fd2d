import { Elysia, t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { json } from '../../platform/http/body.ts'
import {
  allow,
  CONSOLE_API,
  type RecordAction,
  visitorOf,
} from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/envelope.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { FoundUsers } from './accounts/directory.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type UsersAdminDeps = {
  users: Users
  profile: Profile
  limits: Limits
  findUsers: (text: string, after: string | undefined) => Promise<FoundUsers>
  exportData: (userId: string) => Promise<Record<string, unknown>>
  deleteAccount: (userId: string) => Promise<void>
  record: RecordAction
}

const IdParam = closedObject({ id: t.String({ maxLength: 100 }) })
const SessionParams = closedObject({
  id: t.String({ maxLength: 100 }),
  session: t.String({ maxLength: 100 }),
})
const SearchQuery = closedObject({
  q: t.Optional(t.String({ maxLength: 300 })),
  after: t.Optional(t.String({ maxLength: 400 })),
})
/** The operator confirms a deletion by typing the user's address, or a guest's id. */
const Confirmation = closedObject({ confirm: t.String({ maxLength: 400 }) })

/** Lets operators find and help users. */
export function userAdmin(deps: UsersAdminDeps) {
  const { users, profile, limits, findUsers, exportData, deleteAccount, record } = deps
  const { accounts, directory, devices, identities, addresses, accountSecurity, twoFactor } = users
  return new Elysia({ name: 'people-admin', prefix: `${CONSOLE_API}/people` })
    .get('', async ({ query }) => data(await findUsers(query.q ?? '', query.after)), {
      query: SearchQuery,
      ...allow('reader'),
    })
    .get(
      '/:id',
      async ({ params: { id } }) => {
        const account = await directory.find(id)
        const claims = [
          ...users.proof.claimsOf(account),
          ...users.emailCodes.claimsOf(account),
          ...twoFactor.claimsOf(account.id),
        ]
        const activeLimits = await limits.activeLimits(claims)
        return data({
          user: await profile.read(account.id, ''),
          account: await accounts.describe(account.id),
          identities: await identities.list(account.id),
          passkeys: await users.passkeys.list(account.id),
          sessions: await devices.list(account.id, ''),
          limits: activeLimits.map(({ name, until }) => ({ name, until: until.toISOString() })),
        })
      },
      { params: IdParam, ...allow('reader') },
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
        const ended = (await devices.list(id, '')).find(({ _id }) => _id === session)
        await devices.end(id, session)
        const before = { device: ended?.device ?? '', lastUsedAt: ended?.lastUsedAt ?? '' }
        await record(request, { action: 'user.end-session', target: id, before })
        return data(null)
      },
      { params: SessionParams, ...allow('operator') },
    )
    .post(
      '/:id/send-verification',
      async ({ request, params: { id } }) => {
        await addresses.resend(id, visitorOf(request).ip)
        await record(request, { action: 'user.send-verification', target: id })
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
        await twoFactor.reset(id)
        const [before, after] = [{ twoFactor: true }, { twoFactor: false }]
        await record(request, { action: 'user.reset-two-factor', target: id, before, after })
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
