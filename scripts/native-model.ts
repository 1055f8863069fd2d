/** The type of a value, apart from whether it may be null. */
export type ValueType =
  | { kind: 'text' | 'date' | 'integer' | 'number' | 'boolean' | 'any' | 'object' }
  | { kind: 'list' | 'map'; of: Value }
  | { kind: 'model'; name: string }

export type Value = ValueType & { isNullable: boolean }

export type Member = {
  /** In the JSON. */
  name: string
  comment: string
  value: Value
  isOptional: boolean
  /** Whether it is part of a change: null restores the default, and an omitted member stays unchanged. */
  isChange: boolean
  /** The only value that it may have. */
  constant?: string
}

export type Model = {
  name: string
  comment: string
  members: Member[]
  nested: Model[]
  isChange: boolean
  /** The models of a union. */
  choices?: string[]
}

/** The models whose content a log must not show. */
export const SECRETS = new Set([
  'Credentials',
  'EmailCodeAnswer',
  'EmailCodeRequest',
  'NewAccount',
  'RecoveryCodes',
  'Session',
  'SocialLogin',
  'TwoFactorChallenge',
  'TwoFactorSetup',
])

/** The name of a member in the source. */
export function nameOf({ name }: Member): string {
  return name.replace(/^_/, '')
}

/** The type of a member, which may be absent or null; `renderType` renders that of a value. */
export function typeOf(member: Member, renderType: (value: Value) => string): string {
  const { value, isOptional, isChange } = member
  const type = renderType({ ...value, isNullable: false })
  if (isChange) return `Nullable<${type}>?`
  return isOptional || value.isNullable ? `${type}?` : type
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '    ')
}
