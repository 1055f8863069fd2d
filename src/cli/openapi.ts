import { createApp } from '../app.ts'
import { dataCommand } from './command.ts'
import { prettyJson } from './json-file.ts'

export const openapi = dataCommand({
  name: 'openapi',
  summary: 'Print the interface as OpenAPI 3.0.3',
  work: async (services) => {
    const response = await createApp(services).handle(new Request('http://localhost/docs/json'))
    return response.json()
  },
  print: prettyJson,
})
