import { dataCommand, UsageError } from '../lib/command.ts'
import type { EncryptionKeys } from './keys.ts'

type Key = { use: string; state: string; kid: string; from: string | null; until: string | null }

type Needs = { keys: EncryptionKeys; tokens: { publicJwk: { kid: string } } }

const keysList = dataCommand({
  name: 'keys list',
  summary: 'List the public keys by their thumbprints; apps may pin those of use enc',
  work: async (services: Needs) => allKeys(services),
  print: asLines,
})

const keysRotate = dataCommand({
  name: 'keys rotate',
  summary: 'Make a new key: used after 24 hours, the old one is accepted for 30 days more',
  options: [
    ['--use <use>', 'enc: the key that payloads are sealed for'],
    ['--now', 'use it now and refuse every other one at once'],
  ],
  input: (_args, { use, now }) => {
    if (use !== 'enc') throw new UsageError('Say which key: keys rotate --use enc')
    return { atOnce: now === true }
  },
  work: async (services: Needs, { atOnce }: { atOnce: boolean }) => {
    await services.keys.rotate(atOnce)
    return allKeys(services)
  },
  print: asLines,
})

function allKeys({ keys, tokens }: Needs): Key[] {
  const forPayloads = keys.list().map(({ jwk, state, from, until }) => ({
    use: 'enc',
    state,
    kid: jwk.kid,
    from: new Date(from).toISOString(),
    until: until === null ? null : new Date(until).toISOString(),
  }))
  const { kid } = tokens.publicJwk
  return [...forPayloads, { use: 'sig', state: 'current', kid, from: null, until: null }]
}

function asLines(keys: Key[]): string {
  const lines = keys.map(({ use, state, kid, from, until }) => {
    const times = [from && `from ${from}`, until && `until ${until}`].filter(Boolean)
    return [use, state.padEnd(8), kid, ...times].join('  ')
  })
  return lines.join('\n')
}

export const keyCommands = [keysList, keysRotate]
