import { Elysia } from 'elysia'
import { allow, CONSOLE_API } from '../http/console-guard.ts'
import { data } from '../http/replies/envelope.ts'
import type { ExportCsv } from '../lists/csv.ts'
import { describeKeys, type KeyRings, ROTATION_EFFECTS } from './commands.ts'

type KeysAdminDeps = KeyRings & { exportCsv: ExportCsv }

/** Routes to list the keys. */
export function keysAdmin({ exportCsv, ...rings }: KeysAdminDeps) {
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
