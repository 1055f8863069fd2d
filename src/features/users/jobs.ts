import type { Job } from '../../platform/jobs/jobs.ts'
import type { UserNames } from './accounts/user-names.ts'
import type { Users } from './users.ts'

type UserJobsDeps = { users: Users; names: Pick<UserNames, 'backfill'> }

export function userJobs({ users, names }: UserJobsDeps): Job[] {
  return [
    {
      name: 'name index',
      schedule: ['27 4 * * *'],
      run: names.backfill,
      isDueAtStart: async () => true,
    },
    {
      name: 'last seen',
      schedule: ['47 4 * * *'],
      run: users.lastSeen.backfill,
      isDueAtStart: async () => true,
    },
    { name: 'idle guests', schedule: ['40 3 * * *'], run: users.guests.sweep, deletesByAge: true },
    {
      name: 'expired sessions',
      schedule: ['20 3 * * *'],
      run: users.sessions.sweep,
      deletesByAge: true,
    },
    {
      // Hourly, because anyone can request a sign-in code.
      name: 'expired one-time tokens',
      schedule: ['25 * * * *'],
      run: users.oneTimeTokens.sweep,
      deletesByAge: true,
    },
  ]
}
