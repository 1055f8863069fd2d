import { dataCommand, UsageError } from '../../lib/command.ts'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'

type Use = 'sig' | 'enc'
type Needs = { encryptionKeys: KeyRing; signingKeys: KeyRing }
type Rotation = { use: Use; atOnce: boolean }

/** The consequences of replacing all keys of a use immediately. */
export const ROTATION_EFFECTS = {
  enc: 'apps that pin the current keys cannot encrypt requests until they are updated',
  sig: 'all access tokens expire now, and apps must refresh theirs',
}

const keysList = dataCommand({
  name: 'keys list',
  summary: 'List the public keys by thumbprint; apps may pin those with use enc',
  work: async (services: Needs) => describeKeys(services),
  print: asLines,
})

const keysRotate = dataCommand({
  name: 'keys rotate',
  summary: 'Create a new key, which is published now and used after 24 hours',
  options: [
    [
      '--use <use>',
      'enc: seals payloads; the old key is accepted for 30 more days. sig: signs access tokens; the old key is accepted until its tokens have expired',
    ],
    ['--now', 'use it now and reject all other keys immediately'],
  ],
  input: (_args, { use, now }): Rotation => {
    if (use !== 'enc' && use !== 'sig') {
      throw new UsageError('Specify the use: keys rotate --use enc or --use sig')
    }
    return { use, atOnce: now === true }
  },
  risk: async (_services: Needs, { use, atOnce }) =>
    atOnce
      ? `All other keys with use ${use} are rejected immediately: ${ROTATION_EFFECTS[use]}.`
      : null,
  work: async (services: Needs, { use, atOnce }: Rotation) => {
    await ringsOf(services)[use].rotate(atOnce)
    return describeKeys(services)
  },
  print: asLines,
  changes: (_keys, rotation) => rotation,
})

function ringsOf({ encryptionKeys, signingKeys }: Needs) {
  return { enc: encryptionKeys, sig: signingKeys }
}

/** All accepted keys of both uses. */
export function describeKeys(services: Needs) {
  return Object.entries(ringsOf(services)).flatMap(([use, ring]) =>
    ring.list().map(({ jwk, state, from, until }) => ({
      use,
      state,
      kid: jwk.kid,
      // Not recorded for the first keys.
      from: from === 0 ? null : new Date(from).toISOString(),
      until: until === null ? null : new Date(until).toISOString(),
    })),
  )
}

function asLines(keys: ReturnType<typeof describeKeys>): string {
  const lines = keys.map(({ use, state, kid, from, until }) => {
    const times = [from && `from ${from}`, until && `until ${until}`].filter(Boolean)
    return [use, state.padEnd(8), kid, ...times].join('  ')
  })
  return lines.join('\n')
}

export const keyCommands = [keysList, keysRotate]
