import type { Timer } from '../../lib/timer.ts'
import type { Operators } from './operators.ts'

export function operatorTimers({ operators }: { operators: Operators }): Timer[] {
  const { audit, passkeys, sessions } = operators
  return [
    { name: 'old audit entries', schedule: ['40 3 * * *'], run: audit.sweep, deletesByAge: true },
    {
      name: 'old console sessions',
      schedule: ['45 * * * *'],
      run: sweepSessions,
      deletesByAge: true,
    },
  ]

  async function sweepSessions() {
    await sessions.sweep()
    await passkeys.sweep()
  }
}
