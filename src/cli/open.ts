import { UsageError } from '../lib/command.ts'
import { consoleUrlOf } from '../platform/public-url.ts'
import { EXIT, type LocalCommand } from './command.ts'
import { effectiveConfig } from './effective-config.ts'

export const open: LocalCommand = {
  name: 'open',
  summary: 'Print the address of the console',
  run: async (given, { json }) => {
    const config = await effectiveConfig(given())
    const url = consoleUrlOf(config)
    if (url === null) throw new UsageError('CONSOLE is off: set it to on for a console.')
    const { consoleNetworks: networks } = config
    const limit = networks.length > 0 ? `\nOnly from ${networks.join(', ')}.` : ''
    console.log(json ? JSON.stringify({ url, networks }) : url + limit)
    return EXIT.done
  },
}
