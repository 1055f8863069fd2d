import { createApp } from '../app.ts'
import { dataCommand } from '../lib/command.ts'
import { prettyJson } from '../lib/json-file.ts'
import type { Services } from '../services.ts'

export const openapi = dataCommand({
  name: 'openapi',
  summary: 'Print the interface as OpenAPI 3.0.3',
  work: async (services: Services) => {
    const response = await createApp(services).handle(new Request('http://localhost/docs/json'))
    return response.json()
  },
  print: prettyJson,
})
