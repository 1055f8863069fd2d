import { commands } from '../server/features.ts'
import type { ServiceCommand } from './command.ts'
import { openapi } from './openapi.ts'
import { status } from './status.ts'

/** Commands that need the data: a running server takes them over its socket. */
export const dataCommands: ServiceCommand[] = [status, ...commands, openapi]
