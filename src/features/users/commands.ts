import { dataCommand, prettyJson } from '../../lib/command.ts'
import type { Profile } from './profile/service.ts'
import type { Users } from './users.ts'

type Needs = { users: Users; profile: Profile }

const userShow = dataCommand({
  name: 'users show',
  summary: 'Show an account: profile, linked providers, passkeys, devices, notes',
  arguments: '<id-or-email>',
  input: ([user = '']) => user,
  work: async ({ users, profile }: Needs, user: string) => {
    const { id } = await users.directory.find(user)
    return {
      user: await profile.read(id, ''),
      account: await users.accounts.exportAccount(id),
      identities: await users.identities.list(id),
      passkeys: await users.passkeys.list(id),
      sessions: await users.devices.list(id, ''),
      notes: await users.notes.list(id),
    }
  },
  print: prettyJson,
})

export const userCommands = [userShow]
