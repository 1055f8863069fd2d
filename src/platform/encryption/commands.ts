import { t } from 'elysia'
import { UsageError } from '../../lib/command.ts'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import { defineAction } from '../actions/action.ts'
import { closedObject, literalUnion } from '../http/replies/envelope.ts'
import { defineList } from '../lists/list.ts'

type KeyRings = { encryptionKeys: KeyRing; signingKeys: KeyRing }

/** The consequences of replacing all keys of a use immediately. */
const ROTATION_EFFECTS = {
  enc: 'apps that pin the current keys cannot encrypt requests until they are updated',
  sig: 'all access tokens expire now, and apps must refresh theirs',
}

const keysList = defineList({
  name: 'keys',
  summary: 'List the public keys by thumbprint; apps may name them in pinnedKeys and signingKeys',
  console: 'keys',
  query: closedObject({}),
  read: async (rings: KeyRings) => describeKeys(rings),
  rows: (keys) => keys,
  show: (keys) => ({ keys, lost: ROTATION_EFFECTS }),
  columns: {
    use: ({ use }) => use,
    thumbprint: ({ kid }) => kid,
    state: ({ state }) => state,
    from: ({ from }) => from,
    until: ({ until }) => until,
  },
  command: { line: formatKey },
})

const rotate = defineAction({
  name: 'keys.rotate',
  summary: 'Create a new key, which is published now and used after 24 hours',
  label: 'Rotated key',
  role: 'operator',
  proof: 'stepUp',
  input: closedObject({
    use: literalUnion(['enc', 'sig'], { description: 'the use of the key' }),
    atOnce: t.Boolean(),
  }),
  console: 'keys/rotate',
  form: { verb: 'Rotate' },
  async work(services: KeyRings, { use, atOnce }) {
    const ring = use === 'enc' ? services.encryptionKeys : services.signingKeys
    await ring.rotate(atOnce)
    return describeKeys(services)
  },
  audit: (_keys, { use, atOnce }) => ({ target: use, after: { atOnce } }),
  command: {
    options: [
      [
        '--use <use>',
        'enc: seals payloads; the old key is accepted for 30 more days. sig: signs access tokens; the old key is accepted until its tokens have expired',
      ],
      ['--now', 'use it now and reject all other keys immediately'],
    ],
    read(_args, { use, now }) {
      if (use !== 'enc' && use !== 'sig')
        throw new UsageError('Specify the use: keys rotate --use enc or --use sig')
      return { use, atOnce: now === true } as const
    },
    risk: async (_services: KeyRings, { use, atOnce }) =>
      atOnce
        ? `All other keys with use ${use} are rejected immediately: ${ROTATION_EFFECTS[use]}.`
        : null,
    print: (keys) => keys.map(formatKey).join('\n'),
  },
})

/** All accepted keys of both uses. */
function describeKeys({ encryptionKeys, signingKeys }: KeyRings) {
  return Object.entries({ enc: encryptionKeys, sig: signingKeys }).flatMap(([use, ring]) =>
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

type Key = ReturnType<typeof describeKeys>[number]

function formatKey({ use, state, kid, from, until }: Key): string {
  const times = [from && `from ${from}`, until && `until ${until}`].filter(Boolean)
  return [use, state.padEnd(8), kid, ...times].join('  ')
}

export const keyLists = [keysList]
export const keyActions = [rotate]
