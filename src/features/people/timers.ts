import type { Timer } from '../../lib/timer.ts'
import type { PeopleOutbox } from './outbox-messages.ts'
import type { People } from './people.ts'

export function peopleTimers({
  people,
  outbox,
}: {
  people: People
  outbox: PeopleOutbox
}): Timer[] {
  return [
    {
      name: 'outbox',
      schedule: ['* * * * *'],
      run: outbox.flush,
      isDueAtStart: async () => true,
    },
    { name: 'idle guests', schedule: ['40 3 * * *'], run: people.guests.sweep, deletesByAge: true },
    {
      name: 'expired sessions',
      schedule: ['20 3 * * *'],
      run: people.sessions.sweep,
      deletesByAge: true,
    },
    {
      name: 'expired one-time tokens',
      schedule: ['25 3 * * *'],
      run: people.oneTimeTokens.sweep,
      deletesByAge: true,
    },
  ]
}
