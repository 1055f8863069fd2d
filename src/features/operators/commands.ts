import { dataCommand, parseLimitOption, prettyJson, UsageError } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { ROLES, type Role } from '../../lib/roles.ts'
import type { AuditFilter } from './audit.ts'
import type { Operators } from './operators.ts'

type Needs = {
  operators: Operators
  consoleUrl: string | null
  config: { consoleNetworks: string[] }
}

/** `networks`: the only networks that can open the link; empty means all. */
type Link = { name: string; link: string; networks: string[] }

const operatorsAdd = dataCommand({
  name: 'operators add',
  summary: 'Create a console operator and print their single-use setup link',
  arguments: '<name>',
  options: [['--role <role>', 'reader, operator or owner (default: owner)']],
  input: ([name = ''], { role }) => ({ name, role: readRole(role ?? 'owner') }),
  work: async (needs: Needs, { name, role }: { name: string; role: Role }) => {
    const url = requireConsole(needs)
    return createLink(url, await needs.operators.accounts.add(name, role), needs)
  },
  print: formatSetupLink,
  changes: ({ name }, { role }) => ({ operator: name, role }),
  target: ({ name }) => name,
})

const operatorsReset = dataCommand({
  name: 'operators reset',
  summary: 'Remove an operator’s passkeys, password and sessions and print a new setup link',
  arguments: '<name>',
  input: ([name = '']) => name,
  risk: async (_needs: Needs, name: string) =>
    `This removes the passkeys, password and sessions of ${name}.`,
  work: async (needs: Needs, name: string) => {
    const url = requireConsole(needs)
    return createLink(url, await needs.operators.accounts.reset(name), needs)
  },
  print: formatSetupLink,
  changes: ({ name }) => ({ operator: name }),
  target: ({ name }) => name,
})

const operatorsRemove = dataCommand({
  name: 'operators remove',
  summary: 'Remove an operator and end their sessions',
  arguments: '<name>',
  input: ([name = '']) => name,
  risk: async (_needs: Needs, name: string) => `This removes the operator ${name}.`,
  work: async ({ operators }: Needs, name: string) => {
    await operators.accounts.remove(name)
    return { removed: name }
  },
  print: ({ removed }) => `Removed ${removed}.`,
  changes: ({ removed }) => ({ operator: removed }),
  target: ({ removed }) => removed,
})

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
    ['--action <action>', 'only this action, such as "settings set"'],
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

function createLink(url: string, setup: { name: string; token: string }, { config }: Needs): Link {
  const { name, token } = setup
  return { name, link: `${url}#setup=${token}`, networks: config.consoleNetworks }
}

function requireConsole({ consoleUrl }: Needs): string {
  if (consoleUrl !== null) return consoleUrl
  throw new AppError('unavailable', 'The console is off: set CONSOLE=on.')
}

function formatSetupLink({ name, link, networks }: Link): string {
  const restriction =
    networks.length === 0 ? '' : ` CONSOLE_NETWORKS allows only ${networks.join(', ')}.`
  return `Open this link within 30 minutes to set ${name} up. It works once.${restriction}\n${link}`
}

function readRole(text: string | boolean): Role {
  const role = ROLES.find((known) => known === text)
  if (role === undefined) throw new UsageError(`The role must be one of ${ROLES.join(', ')}.`)
  return role
}

export const operatorsCommands = [
  operatorsAdd,
  operatorsReset,
  operatorsRemove,
  operatorsList,
  auditList,
]
