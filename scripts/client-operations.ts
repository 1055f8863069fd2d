import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openData } from '../src/cli/data/open-data.ts'
import { type Row, WITH_EXAMPLE } from '../src/client/testing/operations.ts'
import { readConfig } from '../src/config/config.ts'
import { createLog } from '../src/lib/log/log.ts'
import { createApp } from '../src/server/app.ts'

type Schema = {
  $ref?: string
  type?: string
  example?: unknown
  enum?: unknown[]
  allOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  nullable?: boolean
}
type Content = Record<string, { schema: Schema }>
type Operation = {
  operationId: string
  security?: object[]
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Operations that other servers call, and those that respond with files or pages instead of JSON. */
const NOT_FOR_APPS = /^(receive|readKeys$|readFile$)/

/** The table of the fake server: the operations that apps call, one per line, with the examples that it returns. */
export async function describeOperations(): Promise<string> {
  const document = await readDocument()
  const find = (schema: Schema = {}): Schema =>
    schema.$ref ? (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema
  const lines = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { operationId }]) => !NOT_FOR_APPS.test(operationId))
      .map(([method, operation]) => {
        const row = toRow(`${method.toUpperCase()} ${path}`, operation, find)
        return `  ${JSON.stringify(operation.operationId)}: ${JSON.stringify(row)}`
      }),
  )
  return `{\n${lines.toSorted().join(',\n')}\n}\n`
}

type Find = (schema?: Schema) => Schema

function toRow(route: string, operation: Operation, find: Find): Row {
  const { operationId, security = [], responses } = operation
  const token = security.length > 1 ? 'optional' : security.length > 0 ? 'required' : 'none'
  const reply = responses['200']?.content?.['application/json']?.schema
  const texts = listRequiredTexts(operation, find)
  const hasExample = (WITH_EXAMPLE as readonly string[]).includes(operationId)
  return {
    route,
    token,
    ...(texts.length > 0 ? { texts } : {}),
    ...(hasExample ? { example: findExample(reply ?? {}, find) } : {}),
  }
}

/** The names of the texts that a request must have, in its body or its query. */
function listRequiredTexts({ parameters, requestBody }: Operation, find: Find): string[] {
  const body = find(requestBody?.content['application/json']?.schema)
  const { properties = {}, required = [] } = body
  return [
    ...required.filter((name) => find(properties[name]).type === 'string'),
    ...parameters.flatMap((one) =>
      one.in === 'query' && one.required && find(one.schema).type === 'string' ? [one.name] : [],
    ),
  ]
}

/** The example of a schema, without the optional members of objects. Models that may be null become null. */
function findExample(schema: Schema, find: Find): unknown {
  if (schema.example !== undefined) return schema.example
  const { $ref, allOf, enum: words, items, properties, required = [] } = schema
  if ($ref) return findExample(find(schema), find)
  if (allOf) return null
  if (words) return words[0]
  if (items) return [findExample(items, find)]
  const members = Object.entries(properties ?? {})
    // The document lists nullable members as optional.
    .filter(([name, member]) => required.includes(name) || member.nullable)
    .map(([name, member]) => [name, findExample(member, find)])
  return Object.fromEntries(members)
}

/** The OpenAPI document of a new server. */
async function readDocument(): Promise<Document> {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-document-'))
  try {
    const config = readConfig({}, { DATA_DIR: folder, RATES_PROVIDER: 'off', MIN_FREE_BYTES: '0' })
    await using data = await openData(config, createLog('error'), {}, { schema: 'create' })
    const request = new Request('http://localhost/docs/json')
    return (await (await createApp(data.services).handle(request)).json()) as Document
  } finally {
    await rm(folder, { recursive: true })
  }
}
