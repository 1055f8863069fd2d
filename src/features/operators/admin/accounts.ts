import { Elysia } from 'elysia'
import type { ConsoleContext } from '../../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../../platform/http/console-guard.ts'
import { data } from '../../../platform/http/replies/envelope.ts'
import { OPERATORS_CSV } from '../accounts.ts'
import type { Operators } from '../operators.ts'

type OperatorsAdminDeps = { operators: Pick<Operators, 'accounts'> } & Pick<
  ConsoleContext,
  'exportCsv'
>

/** The list of operators. */
export function operatorsAdmin({ operators: { accounts }, exportCsv }: OperatorsAdminDeps) {
  return new Elysia({ name: 'operators-admin', prefix: CONSOLE_API })
    .get('/operators', async () => data(await accounts.list()), allow('reader'))
    .get(
      '/operators/export.csv',
      (context) => exportCsv(context, { ...OPERATORS_CSV, read: accounts.list }),
      allow('reader'),
    )
}
