import { dataCommand } from '../../../lib/command.ts'
import type { Grants } from './grants.ts'

type Needs = {
  grants: Pick<Grants, 'list'>
  findIdByEmail: (email: string) => Promise<string | null>
}

export const accessList = dataCommand({
  name: 'access list',
  summary: 'List the access that a user was granted without a purchase, newest first',
  arguments: '<id-or-email>',
  input: ([user = '']) => user,
  work: async ({ grants, findIdByEmail }: Needs, user: string) =>
    grants.list((await findIdByEmail(user)) ?? user),
  print: (grants) =>
    grants
      .map(({ id, entitlementId, active, endsAt, grantedBy, reason }) => {
        const state = active ? 'active' : 'ended'
        return [id, entitlementId, state, endsAt ?? 'never', grantedBy, reason].join('\t')
      })
      .join('\n'),
})
