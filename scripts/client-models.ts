import type { TSchema } from '@sinclair/typebox'
import { clientModels } from '../src/server/client-models.ts'

const models = Object.entries<TSchema>(clientModels).toSorted(([one], [other]) =>
  one < other ? -1 : 1,
)

/** The models that apps send: their optional members also accept `undefined`. */
const INPUTS = new Set([
  'AppStorePurchase',
  'CheckoutRequest',
  'Credentials',
  'EmailCodeAnswer',
  'NewAccount',
  'PasskeyAssertion',
  'PasskeyAttestation',
  'PlayStorePurchase',
  'PortalRequest',
  'ProfileChanges',
  'SocialLogin',
  'StripePurchase',
  'SubmittedPurchase',
])

/** The names of the models that other models contain: their schemas have the name as title. */
const TITLES = new Set(models.flatMap(([name, { title }]) => (title === name ? [name] : [])))

/** `src/client/models.ts`: the types of the models in the source. */
export function listModels(): string {
  const lines = models.map(([name]) => {
    const type = `ClientModels['${name}']`
    return `export type ${name} = ${INPUTS.has(name) ? `Input<${type}>` : type}\n`
  })
  return `import type { ClientModels } from '../server/client-models.ts'
import type { Input } from './shared-types.ts'

/** The server's models, as \`bun run reference\` lists them; the package declares them without the server's types. */
${lines.join('')}`
}

/** The declarations of the client's models: plain types, with the descriptions of the schemas as comments. */
export function declareModels(): string {
  return models
    .map(
      ([name, schema]) =>
        `${renderComment(schema)}export type ${name} = ${renderType(schema, name)}\n`,
    )
    .join('')
}

/** The TypeScript type of a schema, with other models by name. `own`: the name of the model that contains it. */
function renderType(schema: TSchema, own: string): string {
  const { title, type, anyOf, items, properties, patternProperties = {} } = schema
  if (title !== own && TITLES.has(title ?? '')) return title as string
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (anyOf) return anyOf.map((choice: TSchema) => renderType(choice, own)).join(' | ')
  if (items) return items.anyOf ? `(${renderType(items, own)})[]` : `${renderType(items, own)}[]`
  if (properties) return renderObject(schema, own)
  const [values] = Object.values<TSchema>(patternProperties)
  if (values) return `{ [name: string]: ${renderType(values, own)} }`
  return type === 'integer' ? 'number' : (type ?? 'unknown')
}

function renderObject({ properties, required = [] }: TSchema, own: string): string {
  const members = Object.entries<TSchema>(properties).map(([name, schema]) => {
    const isOptional = !required.includes(name)
    const orUndefined = isOptional && INPUTS.has(own) ? ' | undefined' : ''
    return `${renderComment(schema)}${name}${isOptional ? '?' : ''}: ${renderType(schema, own)}${orUndefined}\n`
  })
  return `{\n${members.join('').replace(/^(?=.)/gm, '  ')}}`
}

/** A comment with the description of a schema and of its items, and the format of a time. */
function renderComment({ description, anyOf = [], items, ...schema }: TSchema): string {
  const [choice] = anyOf
  const format = schema['format'] ?? choice?.format
  const texts = [
    description ?? choice?.description,
    items?.type === 'string' && items.description,
    format === 'date-time' && 'ISO 8601',
  ]
  const sentences = texts.filter(Boolean).map((text) => sentence(text))
  return sentences.length === 0 ? '' : `/** ${sentences.join(' ')} */\n`
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, '.')
}
