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
  date: 'Date',
  integer: 'Int',
  number: 'Double',
  boolean: 'Bool',
  any: 'JSONValue',
  object: '[String: JSONValue]',
}

const PRELUDE = `import Foundation

/// Any JSON value.
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .number(let number):
            if let integer = Int(exactly: number) { try value.encode(integer) } else { try value.encode(number) }
        case .string(let string): try value.encode(string)
        case .array(let array): try value.encode(array)
        case .object(let object): try value.encode(object)
        }
    }
}

/// A member of a change: \`null\` restores the default, and an omitted member stays unchanged.
public enum Nullable<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    case null
    case value(Value)

    public init(from decoder: Decoder) throws {
        let single = try decoder.singleValueContainer()
        self = single.decodeNil() ? .null : .value(try single.decode(Value.self))
    }

    public func encode(to encoder: Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .null: try single.encodeNil()
        case .value(let value): try single.encode(value)
        }
    }
}

extension KeyedDecodingContainer {
    /// Without this, \`null\` would decode as an omitted member.
    public func decodeIfPresent<Value>(_ type: Nullable<Value>.Type, forKey key: Key) throws -> Nullable<Value>? {
        contains(key) ? try decode(type, forKey: key) : nil
    }
}
`

export function swiftModels(models: Model[]): string {
  return `${PRELUDE}${models.map((model) => `\n${declare(model)}`).join('')}`
}

function declare(model: Model): string {
  const { name, members, nested, choices } = model
  const comment = renderComment(model)
  if (choices) return `${comment}${declareUnion(name, choices)}`
  const fields = members.map(
    (one) =>
      `${renderComment(one)}public var ${nameOf(one)}: ${typeOf(one, renderType)}${renderInitializer(one)}\n`,
  )
  const parts = [
    fields.join(''),
    declareKeys(members),
    declareInit(members),
    ...nested.map(declare),
  ]
  const isSecret = SECRETS.has(name)
  if (isSecret) parts.push(`public var description: String { "${name}" }\n`)
  const body = parts.filter(Boolean).join('\n')
  const printed = isSecret ? ', CustomStringConvertible' : ''
  return `${comment}public struct ${name}: Codable, Equatable, Sendable${printed} {\n${indent(body)}}\n`
}

function declareUnion(name: string, choices: string[]): string {
  const cases = choices.map((choice) => `case ${lowerFirst(choice)}(${choice})\n`)
  const encodings = choices.map(
    (choice) => `case .${lowerFirst(choice)}(let value): try value.encode(to: encoder)\n`,
  )
  const attempts = choices.map((choice, index) => {
    const isLast = index === choices.length - 1
    const assign = `self = .${lowerFirst(choice)}(${isLast ? `try ${choice}(from: decoder)` : 'value'})`
    return isLast
      ? `${assign}\n`
      : `if let value = try? ${choice}(from: decoder) { ${assign}; return }\n`
  })
  const body = [
    cases.join(''),
    `public init(from decoder: Decoder) throws {\n${indent(attempts.join(''))}}\n`,
    `public func encode(to encoder: Encoder) throws {\n    switch self {\n${indent(encodings.join(''))}    }\n}\n`,
  ].join('\n')
  return `public enum ${name}: Codable, Equatable, Sendable {\n${indent(body)}}\n`
}

/** Empty unless a member has another name in the JSON. */
function declareKeys(members: Member[]): string {
  if (members.every((one) => nameOf(one) === one.name)) return ''
  const cases = members.map((one) => {
    const name = nameOf(one)
    return `case ${name}${name === one.name ? '' : ` = "${one.name}"`}\n`
  })
  return `private enum CodingKeys: String, CodingKey {\n${indent(cases.join(''))}}\n`
}

function declareInit(members: Member[]): string {
  const free = members.filter(({ constant }) => constant === undefined)
  const parameters = free.map(
    (one) =>
      `${nameOf(one)}: ${typeOf(one, renderType)}${typeOf(one, renderType).endsWith('?') ? ' = nil' : ''}`,
  )
  const assignments = free.map((one) => `self.${nameOf(one)} = ${nameOf(one)}\n`)
  const line = parameters.join(', ')
  const list = line.length < 90 ? line : `\n${indent(parameters.join(',\n'))}\n`
  return `public init(${list}) {\n${indent(assignments.join(''))}}\n`
}

function renderInitializer({ constant }: Member): string {
  return constant === undefined ? '' : ` = "${constant}"`
}

function renderType(value: Value): string {
  const suffix = value.isNullable ? '?' : ''
  if (value.kind === 'list') return `[${renderType(value.of)}]${suffix}`
  if (value.kind === 'map') return `[String: ${renderType(value.of)}]${suffix}`
  return (value.kind === 'model' ? value.name : TYPES[value.kind]) + suffix
}

function renderComment({ comment, isChange }: Pick<Member, 'comment' | 'isChange'>): string {
  return comment && `/// ${isChange ? comment : comment.replace(/\bnull\b/g, 'nil')}\n`
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
