import { prettyJson } from '../../lib/command.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import { defineList } from '../../platform/lists/list.ts'
import { listUserIds } from './audit.ts'
import { AuditQuery, toAuditFilter } from './model.ts'
import type { Operators } from './operators.ts'

type Needs = { operators: Operators }

const operators = defineList({
  name: 'operators',
  summary: 'List the console operators',
  console: 'operators',
  query: closedObject({}),
  read: ({ operators }: Needs) => operators.accounts.list(),
  rows: (list) => list,
  columns: {
    name: ({ name }) => name,
    role: ({ role }) => role,
    passkeys: ({ passkeys }) => passkeys,
    has_password: ({ hasPassword }) => hasPassword,
    is_set_up: ({ isSetUp }) => isSetUp,
    created: ({ createdAt }) => createdAt,
  },
  command: {
    line: ({ name, role, passkeys, hasPassword, isSetUp }) => {
      const methods = [
        passkeys > 0 ? `${passkeys} ${passkeys === 1 ? 'passkey' : 'passkeys'}` : '',
        hasPassword ? 'password' : '',
        isSetUp ? '' : 'not set up yet',
      ]
      return [name, role, methods.filter(Boolean).join(', ')]
    },
  },
})

const audit = defineList({
  name: 'audit',
  summary: 'List the audit log, newest entries first',
  console: 'audit',
  query: AuditQuery,
  isPersonal: true,
  read: ({ operators }: Needs, query) => operators.audit.list(toAuditFilter(query)),
  rows: ({ entries }) => entries,
  userIds: listUserIds,
  columns: {
    at: ({ at }) => at,
    operator: ({ operator }) => operator,
    origin: ({ origin }) => origin,
    action: ({ action }) => action,
    target: ({ target }) => target,
    before: ({ before }) => before,
    after: ({ after }) => after,
    request_id: ({ requestId }) => requestId,
  },
  command: {
    line: ({ at, operator, origin, action, target, before, after }) => [
      at,
      operator ?? 'command',
      origin,
      action,
      target ?? '-',
      before === null ? '' : prettyJson(before),
      after === null ? '' : prettyJson(after),
    ],
  },
})

export const operatorLists = [operators, audit]
