import { Elysia } from 'elysia'
import type { ConsoleContext } from '../../../platform/feature.ts'
import { json } from '../../../platform/http/body/body.ts'
import { allow, CONSOLE_API, findOperator } from '../../../platform/http/console-guard.ts'
import { data } from '../../../platform/http/replies/envelope.ts'
import { OPERATORS_CSV } from '../accounts.ts'
import { NamedOperator, NewOperator } from '../model.ts'
import type { Operators } from '../operators.ts'

type OperatorsAdminDeps = {
  operators: Pick<Operators, 'accounts'>
  consoleUrl: string | null
} & Pick<ConsoleContext, 'record' | 'exportCsv'>

/** The operators, and what owners change about them. */
export function operatorsAdmin(deps: OperatorsAdminDeps) {
  const { operators, consoleUrl, record, exportCsv } = deps
  const { accounts } = operators
  return new Elysia({ name: 'operators-admin', prefix: CONSOLE_API })
    .get('/operators', async () => data(await accounts.list()), allow('reader'))
    .get(
      '/operators/export.csv',
      (context) => exportCsv(context, { ...OPERATORS_CSV, read: accounts.list }),
      allow('reader'),
    )
    .post(
      '/operators',
      async ({ request, body }) => {
        const { name, token } = await accounts.add(body.name, body.role)
        await record(request, { action: 'operators.add', target: name, after: { role: body.role } })
        return data({ name, link: `${consoleUrl}#setup=${token}` })
      },
      { ...json(NewOperator), ...allow('owner', 'stepUp') },
    )
    .post(
      '/operators/role',
      async ({ request, body }) => {
        const before = await accounts.changeRole(body.name, body.role)
        await record(request, {
          action: 'operators.role',
          target: body.name,
          before: { role: before },
          after: { role: body.role },
        })
        return data(null)
      },
      { ...json(NewOperator), ...allow('owner', 'stepUp') },
    )
    .post(
      '/operators/reset',
      async ({ request, body }) => {
        const { name, token } = await accounts.reset(body.name, findOperator(request).name)
        await record(request, { action: 'operators.reset', target: name })
        return data({ name, link: `${consoleUrl}#setup=${token}` })
      },
      { ...json(NamedOperator), ...allow('owner', 'stepUp') },
    )
    .post(
      '/operators/remove',
      async ({ request, body }) => {
        await accounts.remove(body.name)
        await record(request, { action: 'operators.remove', target: body.name })
        return data(null)
      },
      { ...json(NamedOperator), ...allow('owner', 'stepUp') },
    )
}
