import { Elysia, t } from 'elysia'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import { json } from '../http/body/body.ts'
import { allow, CONSOLE_API, type RecordAction } from '../http/console-guard.ts'
import { closedObject, data, oneOf } from '../http/replies/envelope.ts'
import type { ExportCsv } from '../lists/csv.ts'
import { describeKeys, ROTATION_EFFECTS } from './commands.ts'

type KeysAdminDeps = {
  encryptionKeys: KeyRing
  signingKeys: KeyRing
  record: RecordAction
  exportCsv: ExportCsv
}

const Rotation = closedObject({
  use: oneOf(['enc', 'sig'], { description: 'the use of the key' }),
  atOnce: t.Boolean(),
})

/** Routes to list and rotate the keys. */
export function keysAdmin({ record, exportCsv, ...rings }: KeysAdminDeps) {
  return new Elysia({ name: 'keys-admin', prefix: `${CONSOLE_API}/keys` })
    .get('', () => data({ keys: describeKeys(rings), lost: ROTATION_EFFECTS }), allow('reader'))
    .get(
      '/export.csv',
      (context) => {
        const read = async () => describeKeys(rings)
        return exportCsv(context, { name: 'keys', columns: COLUMNS, read })
      },
      allow('reader'),
    )
    .post(
      '/rotate',
      async ({ request, body: { use, atOnce } }) => {
        await { enc: rings.encryptionKeys, sig: rings.signingKeys }[use].rotate(atOnce)
        await record(request, { action: 'keys.rotate', target: use, after: { atOnce } })
        return data(describeKeys(rings))
      },
      { ...json(Rotation), ...allow('operator', 'stepUp') },
    )
}

type ListedKey = ReturnType<typeof describeKeys>[number]

/** The columns of an exported list. */
const COLUMNS: Record<string, (key: ListedKey) => unknown> = {
  use: ({ use }) => use,
  thumbprint: ({ kid }) => kid,
  state: ({ state }) => state,
  from: ({ from }) => from,
  until: ({ until }) => until,
}
