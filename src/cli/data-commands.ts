import { dataCommand, prettyJson } from '../lib/command.ts'
import { createApp } from '../server/app.ts'
import { commands } from '../server/declarations.ts'
import type { Services } from '../server/services.ts'
import type { ServiceCommand } from './command.ts'
import { status } from './info.ts'

const openapi = dataCommand({
  name: 'openapi',
  summary: 'Print the API as OpenAPI 3.0.3',
  options: [['--simple', 'for generators without support for oneOf, such as the one for Kotlin']],
  input: (_words, { simple }) => simple === true,
  work: async (services: Services, isSimple: boolean) => {
    const url = `http://localhost/docs/json${isSimple ? '?simple' : ''}`
    const response = await createApp(services).handle(new Request(url))
    return response.json()
  },
  print: prettyJson,
})

/** The commands that need the data: a running server executes them. */
export const dataCommands: ServiceCommand[] = [status, ...commands, openapi]
