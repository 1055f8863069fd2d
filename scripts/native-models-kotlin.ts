import {
  indent,
  type Member,
  type Model,
  nameOf,
  SECRETS,
  typeOf,
  type Value,
} from './native-model.ts'

const TYPES = {
  text: 'String',
  date: 'Instant',
  integer: 'Long',
  number: 'Double',
  boolean: 'Boolean',
  any: 'Any',
  object: 'JSONObject',
}

/** How `JSONObject` and `JSONArray` read a value. */
const GETTERS = {
  text: 'getString',
  date: 'getString',
  integer: 'getLong',
  number: 'getDouble',
  boolean: 'getBoolean',
  any: 'get',
  object: 'getJSONObject',
  list: 'getJSONArray',
  map: 'getJSONObject',
  model: 'getJSONObject',
}

const PRELUDE = `package homeport

import java.time.Instant
import java.time.ZoneOffset
import java.time.format.DateTimeFormatter
import org.json.JSONArray
import org.json.JSONObject

/** A member of a change: \`Nullable(null)\` restores the default, and an omitted member stays unchanged. */
data class Nullable<out T>(val value: T?)

private val TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC)

private fun toJson(time: Instant): String = TIME.format(time)

private fun <T> listFrom(array: JSONArray, item: (Int) -> T): List<T> = List(array.length(), item)

private fun <T> mapFrom(json: JSONObject, value: (String) -> T): Map<String, T> =
    json.keys().asSequence().map { it as String }.associateWith(value)

private fun arrayOfJson(items: List<Any?>): JSONArray = JSONArray().apply { items.forEach { put(it ?: JSONObject.NULL) } }

private fun objectOfJson(values: Map<String, Any?>): JSONObject =
    JSONObject().apply { values.forEach { (name, value) -> put(name, value ?: JSONObject.NULL) } }
`

export function kotlinModels(models: Model[]): string {
  const unions = new Map(
    models.flatMap(({ name, choices = [] }) => choices.map((choice) => [choice, name] as const)),
  )
  return `${PRELUDE}${models.map((model) => `\n${declare(model, unions.get(model.name))}`).join('')}`
}

function declare(model: Model, union?: string): string {
  const { name, members, nested, choices } = model
  const comment = renderComment(model)
  if (choices) return `${comment}sealed interface ${name} {\n    fun toJson(): JSONObject\n}\n`
  const fields = members.map(
    (one) =>
      `${renderComment(one)}val ${nameOf(one)}: ${typeOf(one, renderType)}${renderInitializer(one)},\n`,
  )
  const puts = members.map((one) => `.put("${one.name}", ${encodeMember(one)})\n`)
  const reads = members
    .filter(({ constant }) => constant === undefined)
    .map((one) => `${nameOf(one)} = ${decodeMember(one)},\n`)
  const override = union ? 'override ' : ''
  const body = [
    ...(SECRETS.has(name) ? [`override fun toString(): String = "${name}"\n`] : []),
    `${override}fun toJson(): JSONObject = JSONObject()\n${indent(puts.join(''))}`,
    `companion object {\n    fun from(json: JSONObject): ${name} = ${name}(\n${indent(indent(reads.join('')))}    )\n}\n`,
    ...nested.map((one) => declare(one)),
  ].join('\n')
  const parent = union ? ` : ${union}` : ''
  return `${comment}data class ${name}(\n${indent(fields.join(''))})${parent} {\n${indent(body)}}\n`
}

function renderInitializer({ constant, value, isOptional }: Member): string {
  if (constant !== undefined) return ` = "${constant}"`
  return isOptional || value.isNullable ? ' = null' : ''
}

function renderType(value: Value): string {
  const suffix = value.isNullable ? '?' : ''
  if (value.kind === 'list') return `List<${renderType(value.of)}>${suffix}`
  if (value.kind === 'map') return `Map<String, ${renderType(value.of)}>${suffix}`
  return (value.kind === 'model' ? value.name : TYPES[value.kind]) + suffix
}

/** `put` leaves out a member whose value is null. */
function encodeMember(member: Member): string {
  const { value, isOptional, isChange } = member
  const name = nameOf(member)
  const isPlain = encode('it', value) === 'it'
  if (isChange)
    return `${name}?.let { change -> change.value${isPlain ? '' : `?.let { ${encode('it', value)} }`} ?: JSONObject.NULL }`
  if (!isOptional && !value.isNullable) return encode(name, value)
  return isPlain ? name : `${name}?.let { ${encode('it', value)} }`
}

function encode(what: string, value: Value): string {
  const item = (of: Value) =>
    of.isNullable && encode('it', of) !== 'it'
      ? `it?.let { ${encode('it', of)} }`
      : encode('it', of)
  switch (value.kind) {
    case 'date':
      return `toJson(${what})`
    case 'model':
      return `${what}.toJson()`
    case 'list':
      return `arrayOfJson(${what}.map { ${item(value.of)} })`
    case 'map':
      return item(value.of) === 'it'
        ? `objectOfJson(${what})`
        : `objectOfJson(${what}.mapValues { (_, it) -> ${item(value.of)} })`
    default:
      return what
  }
}

function decodeMember({ name, value, isOptional, isChange }: Member): string {
  const read = decode('json', `"${name}"`, value)
  if (!isOptional && !value.isNullable) return read
  const orNull = `if (json.isNull("${name}")) null else ${read}`
  return isChange ? `if (json.has("${name}")) Nullable(${orNull}) else null` : orNull
}

/** Reads the value at `key`, a name or an index, of a `JSONObject` or a `JSONArray`. */
function decode(from: string, key: string, value: Value): string {
  const read = `${from}.${GETTERS[value.kind]}(${key})`
  const item = (container: string, of: Value) =>
    `${of.isNullable ? `if (${container}.isNull(it)) null else ` : ''}${decode(container, 'it', of)}`
  switch (value.kind) {
    case 'date':
      return `Instant.parse(${read})`
    case 'model':
      return `${value.name}.from(${read})`
    case 'list':
      return `${read}.let { list -> listFrom(list) { ${item('list', value.of)} } }`
    case 'map':
      return `${read}.let { map -> mapFrom(map) { ${item('map', value.of)} } }`
    default:
      return read
  }
}

function renderComment({ comment }: { comment: string }): string {
  return comment && `/** ${comment} */\n`
}
