import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type UsersConsoleDeps = {
  users: Users
  profile: Profile
  limits: Limits
  /** What a user has access to, and why. */
  accessOf: (userId: string) => Promise<unknown>
}

const IdParam = closedObject({ id: t.String({ maxLength: 100 }) })

/** Shows operators a user. */
export function userConsole(deps: UsersConsoleDeps) {
  const { users, profile, limits, accessOf } = deps
  const { accounts, directory, devices, identities, twoFactor } = users
  return new Elysia({ name: 'people-console', prefix: `${CONSOLE_API}/people` }).get(
    '/:id',
    async ({ params: { id } }) => {
      const account = await directory.find(id)
      const applicable = [
        ...users.proof.listLimits(account),
        ...users.emailCodes.listLimits(account),
        ...twoFactor.listLimits(account.id),
      ]
      const activeLimits = await limits.activeLimits(applicable)
      return data({
        user: await profile.read(account.id, ''),
        account: await accounts.exportAccount(account.id),
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
}
