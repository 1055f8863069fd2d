import { userName } from '../lib/user-name.ts'
import type { Services } from '../server/services.ts'
import type { ServiceCommand } from './command.ts'

/** Does the work of a command; what it changes is written to the log and to the audit log as done by `user`. */
export async function carryOut(
  command: ServiceCommand,
  services: Services,
  input: never,
  user: string,
): Promise<unknown> {
  const before = await command.before?.(services, input)
  const outcome = ((await command.work(services, input)) ?? null) as never
  if (command.changes) {
    const after = command.changes(outcome, input)
    services.log.info({ command: command.name, ...after }, 'operator change')
    const target = command.target?.(outcome, input)
    await services.operators.audit.record({
      operator: null,
      origin: user,
      action: command.name,
      ...(target === undefined ? {} : { target }),
      ...(before ? { before } : {}),
      after,
    })
  }
  return outcome
}

/** The user of the machine who types, by name where there is one. */
export function currentUser(): string {
  const uid = process.getuid?.()
  return uid === undefined ? 'unknown' : userName(uid)
}
