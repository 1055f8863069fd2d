import type { TSchema } from '@sinclair/typebox'
import manifest from '../package.json' with { type: 'json' }
import { clientModels } from '../src/server/client-models.ts'
import type { Member, Model, Value, ValueType } from './native-model.ts'
import { kotlinModels } from './native-models-kotlin.ts'
import { swiftModels } from './native-models-swift.ts'

/** Apps pass on the JSON of passkeys, and of an export, without reading it. */
const PASSED_ON = /^Passkey(?=[ACR])|Export$/

/** The first lines of a generated file. */
const HEADER = `// The models of Homeport ${manifest.version}, generated from the server's schemas. Later servers only add members.`

/** The models in Swift and Kotlin, by path. */
export function nativeModels(): Record<string, string> {
  const models = Object.entries<TSchema>(clientModels)
    .filter(([name]) => !PASSED_ON.test(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => toModel(name, schema, name === 'ProfileChanges'))
  return {
    'src/client/native/HomeportModels.swift': `${HEADER}\n${swiftModels(models)}`,
    'src/client/native/HomeportModels.kt': `${HEADER}\n${kotlinModels(models)}`,
  }
}

function toModel(name: string, schema: TSchema, isChange: boolean): Model {
  const nested: Model[] = []
  const { properties = {}, required = [], anyOf } = schema
  const members = Object.entries<TSchema>(properties).map(([member, one]): Member => {
    const constant = 'const' in one ? { constant: String(one['const']) } : {}
    return {
      name: member,
      comment: commentOf(one),
      value: toValue(one, { name, member, nested, isChange }),
      isOptional: !required.includes(member),
      isChange,
      ...constant,
    }
  })
  const comment = commentOf(schema)
  if (!anyOf) return { name, comment, members, nested, isChange }
  return {
    name,
    comment,
    members,
    nested,
    isChange,
    choices: anyOf.map(({ title }: TSchema) => title),
  }
}

/** Where a value occurs. Objects nested in it become separate models. */
type Place = { name: string; member: string; nested: Model[]; isChange: boolean }

function toValue(schema: TSchema, place: Place): Value {
  const { anyOf = [schema] } = schema
  const choices: TSchema[] = anyOf.filter(({ type }: TSchema) => type !== 'null')
  const [choice = schema] = choices
  const isNullable = choices.length < anyOf.length
  const isWord = choices.every(({ type }) => type === 'string')
  if (choices.length > 1 && !isWord) return { kind: 'any', isNullable }
  return { ...toType(choice, place), isNullable }
}

function toType(schema: TSchema, place: Place): ValueType {
  const { title, type, format, items, properties, patternProperties = {} } = schema
  if (title !== undefined && title in clientModels && title !== place.name)
    return { kind: 'model', name: title }
  if (items) return { kind: 'list', of: toValue(items, place) }
  if (properties) {
    const name = place.member.charAt(0).toUpperCase() + place.member.slice(1)
    place.nested.push(toModel(name, schema, place.isChange))
    return { kind: 'model', name }
  }
  const [values] = Object.values<TSchema>(patternProperties)
  if (values && Object.keys(values).length === 0) return { kind: 'object' }
  if (values) return { kind: 'map', of: toValue(values, place) }
  if (type === 'string') return { kind: format === 'date-time' ? 'date' : 'text' }
  if (type === 'integer' || type === 'number' || type === 'boolean') return { kind: type }
  return { kind: 'any' }
}

/** The description of a schema as sentences. */
function commentOf({ description, anyOf = [] }: TSchema): string {
  const text: string = description ?? anyOf[0]?.description ?? ''
  return text && text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, '.')
}
