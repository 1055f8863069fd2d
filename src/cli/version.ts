import { VERSION } from '../version.ts'
import { EXIT, type LocalCommand } from './command.ts'

export const version: LocalCommand = {
  name: 'version',
  summary: 'Print the version',
  run: async (_config, { json }) => {
    console.log(json ? JSON.stringify({ version: VERSION, bun: Bun.version }) : VERSION)
    return EXIT.done
  },
}
