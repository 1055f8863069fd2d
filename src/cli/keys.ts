import { dataCommand, UsageError } from './command.ts'

type Key = { use: string; state: string; kid: string; from: string | null; until: string | null }

export const keysList = dataCommand({
  name: 'keys list',
  summary: 'List the public keys by their thumbprints, which apps may pin',
  work: async ({ keys, tokens }): Promise<Key[]> => [
    ...keys.list().map(({ jwk, state, from, until }) => ({
      use: 'enc',
      state,
      kid: jwk.kid,
      from: new Date(from).toISOString(),
      until: until === null ? null : new Date(until).toISOString(),
    })),
    { use: 'sig', state: 'current', kid: tokens.publicJwk.kid, from: null, until: null },
  ],
  print: (keys) => keys.map(asLine).join('\n'),
})

export const keysRotate = dataCommand({
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
  work: async (services, { atOnce }) => {
    await services.keys.rotate(atOnce)
    return keysList.work(services, undefined as never) as Promise<Key[]>
  },
  print: (keys) => keys.map(asLine).join('\n'),
})

function asLine({ use, state, kid, from, until }: Key): string {
  const times = [from && `from ${from}`, until && `until ${until}`].filter(Boolean)
  return [use, state.padEnd(8), kid, ...times].join('  ')
}
