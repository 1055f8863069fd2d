import type { Config } from '../../config/config.ts'
import { dataCommand } from '../../lib/command.ts'
import type { Services } from '../../server/services.ts'
import { askServer, STATE_TIMEOUT_MS } from '../server/command-socket.ts'

export const serverStateCommand = dataCommand({
  name: 'server state',
  summary: 'Used by doctor',
  work: ({ serverState }: Services) => serverState(),
  print: () => '',
})

export type ServerState = Awaited<ReturnType<Services['serverState']>>

/** The state that the server reports; null when none is running or its version cannot report it. */
export async function askServerState(config: Config): Promise<ServerState | null> {
  const answer = await askServer(config, serverStateCommand, null, 'work', STATE_TIMEOUT_MS).catch(
    () => null,
  )
  return (answer?.outcome as ServerState | undefined) ?? null
}
