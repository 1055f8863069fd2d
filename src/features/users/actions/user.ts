import { t } from 'elysia'
import type { Caller } from '../../../platform/actions/action.ts'
import { closedObject } from '../../../platform/http/replies/envelope.ts'
import type { Users } from '../users.ts'

/** The id of a user, or in the console and in commands also the e-mail address. */
export const id = t.String({ maxLength: 320 })
export const User = closedObject({ id })
export const byAddress = { arguments: { id: '<id-or-email>' } }

/** The scope and the tag of user routes in the server API, and their path below its prefix. */
export const serverRoute = { scope: 'users:write', tag: 'Users' } as const
export const USERS = '/users/v1'

/** Finds a user; throws `not_found`. Servers identify users by id only. */
export function findUser({ directory }: Users, idOrEmail: string, { via }: Caller) {
  return via === 'server' ? directory.findById(idOrEmail) : directory.find(idOrEmail)
}
