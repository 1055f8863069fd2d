import { dataCommand, parseLimitOption, prettyJson } from '../../lib/command.ts'
import type { AuditFilter } from './audit.ts'
import type { Operators } from './operators.ts'

type Needs = { operators: Operators }

const operatorsList = dataCommand({
  name: 'operators list',
  summary: 'List the console operators',
  work: ({ operators }: Needs) => operators.accounts.list(),
  print: (list) =>
    list
      .map(({ name, role, passkeys, hasPassword, isSetUp }) => {
        const methods = [
          passkeys > 0 ? `${passkeys} ${passkeys === 1 ? 'passkey' : 'passkeys'}` : '',
          hasPassword ? 'password' : '',
          isSetUp ? '' : 'not set up yet',
        ]
        return [name, role, methods.filter(Boolean).join(', ')].join('\t')
      })
      .join('\n'),
})

const auditList = dataCommand({
  name: 'audit list',
  summary: 'List the audit log, newest entries first',
  options: [
    ['--action <action>', 'only this action, such as settings.set'],
    ['--operator <name>', 'only actions of this operator'],
    ['--target <target>', 'only actions on this id or name'],
    ['--after <cursor>', 'continue after this cursor from the previous output'],
    ['--limit <count>', 'maximum number of results (default: 50)'],
  ],
  input: (_args, { action, operator, target, after, limit }) => ({
    ...(typeof action === 'string' ? { action } : {}),
    ...(typeof operator === 'string' ? { operator } : {}),
    ...(typeof target === 'string' ? { target } : {}),
    ...(typeof after === 'string' ? { after } : {}),
    ...(typeof limit === 'string' ? { limit: parseLimitOption(limit) } : {}),
  }),
  work: ({ operators }: Needs, filter: AuditFilter) => operators.audit.list(filter),
  print: ({ entries, next }) =>
    [
      ...entries.map(({ at, operator, origin, action, target, before, after }) =>
        [
          at,
          operator ?? 'command',
          origin,
          action,
          target ?? '-',
          before === null ? '' : prettyJson(before),
          after === null ? '' : prettyJson(after),
        ]
          .join('\t')
          .trimEnd(),
      ),
      ...(next === null ? [] : [`More: --after ${next}`]),
    ].join('\n'),
})

export const operatorsCommands = [operatorsList, auditList]
