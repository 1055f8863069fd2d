import { describeUnreadable, type Options, UsageError } from '../../../../lib/command.ts'
import type { FirebaseParameters } from '../../../../lib/passwords/imported-password-hashes.ts'

/** The names in Firebase's console, and our options. */
const NAMES = {
  signerKey: ['base64_signer_key', '--signer-key'],
  saltSeparator: ['base64_salt_separator', '--salt-separator'],
  rounds: ['rounds', '--rounds'],
  memCost: ['mem_cost', '--mem-cost'],
} as const

/** Firebase accepts no larger values: https://firebase.google.com/docs/cli/auth. */
const MAX_ROUNDS = 8
const MAX_MEM_COST = 14

/** From options, or a file with the text from Firebase's console; null if there are none. Throws `UsageError`. */
export async function readFirebaseParameters(options: Options): Promise<FirebaseParameters | null> {
  const path = options['hashConfig']
  const text = typeof path === 'string' ? await readText(path) : ''
  const names = Object.keys(NAMES) as (keyof typeof NAMES)[]
  const found = Object.fromEntries(names.map((name) => [name, readParameter(name)]))
  if (Object.values(found).every((value) => value === undefined)) {
    if (typeof path !== 'string') return null
    throw new UsageError(`${path} has no Firebase hash parameters. Copy them from its console.`)
  }
  for (const name of names) {
    if (found[name] === undefined)
      throw new UsageError(`The hash parameter ${NAMES[name][0]} (${NAMES[name][1]}) is missing.`)
  }
  const signerKey = readBytes('signerKey')
  if (signerKey.length < 32)
    throw new UsageError('The Firebase signer key is too short. Copy all of it.')
  return {
    signerKey,
    saltSeparator: readBytes('saltSeparator'),
    rounds: readNumber('rounds', MAX_ROUNDS),
    memCost: readNumber('memCost', MAX_MEM_COST),
  }

  function readParameter(name: keyof typeof NAMES): string | undefined {
    const option = options[name]
    if (typeof option === 'string') return option
    return new RegExp(`\\b${NAMES[name][0]}"?\\s*:\\s*"?([\\w+/=-]+)`).exec(text)?.[1]
  }

  /** Truncated text decodes to fewer bytes, or its last character has unused bits. */
  function readBytes(name: 'signerKey' | 'saltSeparator'): Buffer {
    const bytes = Buffer.from(found[name] ?? '', 'base64')
    const text = (found[name] ?? '').replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
    if (bytes.length > 0 && bytes.toString('base64').replace(/=+$/, '') === text) return bytes
    throw new UsageError(`${NAMES[name][0]} is not complete base64. Copy all of it.`)
  }

  function readNumber(name: 'rounds' | 'memCost', max: number): number {
    const value = Number(found[name])
    if (Number.isInteger(value) && value >= 1 && value <= max) return value
    throw new UsageError(`${NAMES[name][0]} must be a number from 1 to ${max}.`)
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await Bun.file(path).text()
  } catch (error) {
    throw new UsageError(describeUnreadable(path, error))
  }
}
