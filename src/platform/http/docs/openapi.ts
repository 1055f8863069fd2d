import { SERVER_API } from '../api-key-guard.ts'
import { withRange } from '../replies/envelope.ts'
import { withFailureExample, withoutExample } from './openapi-examples.ts'
import {
  commonHeaders,
  headerComponents,
  headerParameters,
  responseHeaders,
} from './openapi-headers.ts'

type Node = Record<string, unknown>
/** The plugin puts the title and description of a response's schema next to its content. */
type Response = {
  description?: string
  title?: string
  headers?: Node
  content?: Record<string, Node>
}
export type OpenApi = { paths: Record<string, Record<string, Operation>> } & Node
type Operation = {
  operationId: string
  responses: Record<string, Response>
  requestBody?: { content: Record<string, Node> }
} & Node

const DESCRIPTIONS: Record<string, string> = {
  '200': 'Success',
  '304': 'Not modified',
  '400': 'Malformed request',
  '401': 'Not signed in, or wrong credentials',
  '403': 'Not allowed',
  '404': 'Not found',
  '408': 'The body arrived too slowly',
  '409': 'Conflict',
  '412': 'Changed in the meantime',
  '413': 'Too large',
  '415': 'Unsupported media type',
  '422': 'Some fields are invalid',
  '429': 'Too many requests',
  '503': 'Temporarily unavailable',
  '507': 'Insufficient storage',
}

const APP_SECURITY = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'the `accessToken` of a session',
  },
  webhook: {
    type: 'http',
    scheme: 'bearer',
    description: 'the `WEBHOOK_TOKEN` of the server',
  },
}
const SERVER_SECURITY = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'a key from `homeport api-keys create`, which begins with `hp_`',
  },
}

/**
 * Gives generators (Swift, Kotlin, Dart) clean models: plain numbers and booleans, `nullable`, `enum`, named schemas.
 */
export function normalizeOpenApi(
  original: OpenApi,
  { tags, server, isSimple }: { tags: Record<string, string>; server: string; isSimple: boolean },
): OpenApi {
  const document = isSimple ? simplify(original) : original
  const schemas: Record<string, unknown> = {}
  const paths: OpenApi['paths'] = {}
  for (const [path, item] of Object.entries(document.paths).toSorted()) {
    paths[path] = {}
    for (const [method, operation] of Object.entries(item)) {
      const complete = withHeaders(withSealingFailures(operation, path, method))
      paths[path][method] = normalizeOperation(complete, schemas)
    }
  }
  const { info } = document
  const isForApps = !Object.keys(paths).every(isForServers)
  return {
    openapi: '3.0.3',
    info: {
      ...(info as Node),
      contact: { name: 'The operator of this server' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: server, description: 'The server that serves this document' }],
    tags: listTags(paths, tags),
    security: [],
    ...(isForApps ? { 'x-common-headers': commonHeaders } : {}),
    paths,
    components: {
      ...headerComponents,
      schemas: Object.fromEntries(Object.entries(schemas).toSorted()),
      securitySchemes: isForApps ? APP_SECURITY : SERVER_SECURITY,
    },
  }
}

/** Replaces schemas with their `x-simple`, for generators without `oneOf` or arrays of files. */
function simplify(document: OpenApi): OpenApi {
  return JSON.parse(JSON.stringify(document), (_key, node) => {
    const simple = node?.['x-simple']
    // The plugin repeats the schema's title on the response, which would name the simple schema after the original.
    return simple && node.content ? { content: node.content } : (simple ?? node)
  })
}

function isForServers(path: string): boolean {
  return path.startsWith(SERVER_API)
}

/** Adds the errors that payload encryption can return before the route is reached. */
function withSealingFailures(operation: Operation, path: string, method: string): Operation {
  const { responses } = operation
  const failure = responses['400']
  if (!failure || !path.startsWith('/api/') || isForServers(path)) return operation
  const statuses = method === 'get' ? ['403'] : ['403', '409', '429']
  const sealingFailures = Object.fromEntries(statuses.map((status) => [status, failure]))
  return { ...operation, responses: { ...sealingFailures, ...responses } }
}

function withHeaders(operation: Operation): Operation {
  const {
    'x-request-headers': headerNames,
    'x-cached': isCached,
    'x-texts': texts,
    ...others
  } = operation
  const { 'x-entity-tag': hasEntityTag = isCached, parameters = [], ...rest } = others
  const declared = (headerNames as string[] | undefined) ?? []
  const names = [...declared, ...(isCached ? ['IfNoneMatch'] : [])]
  const hasTexts = texts === true || isMessage(operation.responses['200'])
  const kinds = { isCached: isCached === true, hasEntityTag: hasEntityTag === true, hasTexts }
  const responses = {
    ...rest.responses,
    ...(names.includes('IfNoneMatch')
      ? { '304': { description: DESCRIPTIONS['304'] as string } }
      : {}),
  }
  return {
    ...rest,
    parameters: [...(parameters as Node[]).map(withoutExample), ...headerParameters(names)],
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        { ...response, headers: responseHeaders(status, kinds) },
      ]),
    ),
  } as Operation
}

/** Whether a response is a sentence for the user, without data. */
function isMessage(response: unknown): boolean {
  return JSON.stringify(response ?? {}).includes('"message"')
}

function normalizeOperation(operation: Operation, schemas: Record<string, unknown>): Operation {
  const name = operation.operationId.charAt(0).toUpperCase() + operation.operationId.slice(1)
  const { requestBody, responses, 'x-form': isForm, ...rest } = operation
  const normalized: Node = { ...rest }
  if (requestBody) {
    const jsonBody = jsonOnly(requestBody.content, `${name}Body`)
    normalized['requestBody'] = {
      required: true,
      content: isForm
        ? { 'application/x-www-form-urlencoded': jsonBody['application/json'] as Node }
        : jsonBody,
    }
  }
  normalized['responses'] = Object.fromEntries(
    Object.entries(responses).map(([status, { description, title, headers, content }]) => {
      const titled = title ?? (status === '200' ? `${name}Reply` : undefined)
      const json = content && jsonOnly(content, titled, description)
      const body = json && { content: withFailureExample(status, json) }
      return [status, { description: DESCRIPTIONS[status] ?? description, headers, ...body }]
    }),
  )
  return clean(normalized, schemas) as Operation
}

/** Keeps only JSON: the plugin documents every body as JSON, form and text. */
function jsonOnly(content: Record<string, Node>, title?: string, description?: string) {
  const json = content['application/json']
  if (!json) return content
  const schema = json['schema'] as Node
  const about = description === undefined ? { title } : { title, description }
  const isModel = schema['type'] === 'object' || schema['discriminator'] !== undefined
  const titled = title && isModel ? { ...about, ...schema } : schema
  return { 'application/json': { ...json, schema: titled } }
}

/** Cleans up every schema in a part of the document, and moves titled ones to `schemas`. */
function clean(node: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(node)) return node.map((item) => clean(item, schemas))
  if (node === null || typeof node !== 'object') return node
  const { title, ...schema } = repair(node as Node)
  const cleaned = Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) =>
      key === '$id' || key === 'x-simple' || value === undefined || isReadOnly(value)
        ? []
        : [[key, key === 'properties' ? cleanFields(value, schemas) : clean(value, schemas)]],
    ),
  )
  allowAbsentNulls(cleaned)
  // Generators recognize `true` as a map of any values.
  if (isEmpty(cleaned['additionalProperties'])) cleaned['additionalProperties'] = true
  // Newer servers may return fields that this document does not contain.
  if (!/Body$|Changes$/.test(String(title ?? 'Body'))) delete cleaned['additionalProperties']
  if (typeof title !== 'string' || !(cleaned['type'] ?? cleaned['oneOf'])) {
    return title === undefined ? cleaned : { title, ...cleaned }
  }
  schemas[title] = cleaned
  return { $ref: `#/components/schemas/${title}` }
}

/** A property may be named like a keyword, such as `title`. */
function cleanFields(fields: unknown, schemas: Record<string, unknown>) {
  const kept = Object.entries(fields as Node).filter(([, schema]) => !isReadOnly(schema))
  return Object.fromEntries(kept.map(([name, schema]) => [name, clean(schema, schemas)]))
}

function isReadOnly(schema: unknown): boolean {
  return (schema as Node | null)?.['readOnly'] === true
}

function isEmpty(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0
}

/** Makes nullable fields optional as well, for generators that do not support `nullable`. */
function allowAbsentNulls(schema: Node) {
  const { properties, required } = schema
  if (!Array.isArray(required)) return
  const fields = properties as Record<string, Node>
  const remaining = required.filter((name: string) => fields[name]?.['nullable'] !== true)
  if (remaining.length > 0) schema['required'] = remaining
  else delete schema['required']
}

function repair(node: Node): Node {
  const { anyOf, patternProperties, error: _message, field: _field, examples, ...rest } = node
  if (rest['type'] === 'number') rest['format'] = 'double'
  if (rest['type'] === 'integer') Object.assign(rest, withRange(rest))
  if (Array.isArray(examples)) rest['example'] = examples[0]
  else if (examples !== undefined) rest['examples'] = examples
  if ('const' in rest) {
    const { const: only, ...others } = rest
    return { ...others, enum: [only] }
  }
  if (patternProperties) {
    return { ...rest, additionalProperties: Object.values(patternProperties as Node)[0] }
  }
  if (!Array.isArray(anyOf)) return rest
  // A discriminator property distinguishes the models.
  if (rest['discriminator']) return { ...rest, oneOf: anyOf }
  return { ...rest, ...union(anyOf as Node[]) }
}

/** A union with null is nullable; the plugin writes a number or boolean as a union with text that has a format. */
function union(choices: Node[]): Node {
  const others = choices.filter(({ type }) => type !== 'null')
  const nullable = others.length < choices.length ? { nullable: true } : {}
  const native = others.find(({ type }) => /^(integer|number|boolean)$/.test(String(type)))
  // Only the text in such a union has a format; any other is documented as any value.
  if (native && others.some(({ type, format }) => type === 'string' && format !== undefined))
    return { ...repair(native), ...nullable }
  if (native && others.length > 1) return nullable
  if (others.length > 0 && others.every((choice) => 'const' in choice)) {
    return { type: 'string', enum: others.map((choice) => choice['const']), ...nullable }
  }
  const [only] = others
  // A nullable model stays a model of its own.
  if (only && others.length === 1 && only['title'])
    return { type: 'object', allOf: [only], ...nullable }
  if (only && others.length === 1) return { ...repair(only), ...nullable }
  return { anyOf: others, ...nullable }
}

function listTags(paths: OpenApi['paths'], descriptions: Record<string, string>) {
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  const names = operations.flatMap(({ tags }) => (tags as string[] | undefined) ?? [])
  const description = (name: string) => descriptions[name] ?? name
  return [...new Set(names)].toSorted().map((name) => ({ name, description: description(name) }))
}
