import type { Command as Commander } from 'commander'
import type { Config } from '../config.ts'
import type { DataCommand, NamedCommand, Options } from '../lib/command.ts'
import type { Services } from '../server/services.ts'

/** Carried out right here. Returns the exit code. */
export type LocalCommand = NamedCommand & {
  run: (
    config: () => Config,
    options: Options,
    args: string[],
    program: Commander,
  ) => Promise<number>
}

/** A command over all that the services offer. */
export type ServiceCommand = DataCommand<Services>
export type Command = ServiceCommand | LocalCommand

export const EXIT = { done: 0, failed: 1, usage: 2, configuration: 78 } as const
