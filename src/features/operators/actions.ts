import { AppError } from '../../lib/errors.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { readInput } from '../../platform/actions/command-line.ts'
import { NamedOperator, NewOperator } from './model.ts'
import type { Operators } from './operators.ts'

type Needs = {
  operators: Operators
  consoleUrl: string | null
  config: { consoleNetworks: string[] }
}

/** `networks`: the only networks that can open the link; empty means all. */
type Link = { name: string; link: string; networks: string[] }

const byOwners = { role: 'owner', proof: 'stepUp' } as const

const add = defineAction({
  name: 'operators.add',
  summary: 'Create a console operator and print their single-use setup link',
  label: 'Added operator',
  ...byOwners,
  input: NewOperator,
  console: 'operators',
  form: { verb: 'Create invitation' },
  work: async (needs: Needs, { name, role }) => {
    const url = requireConsole(needs)
    return createLink(url, await needs.operators.accounts.add(name, role), needs)
  },
  audit: ({ name }, { role }) => ({ target: name, after: { role } }),
  command: {
    arguments: { name: '<name>' },
    read: (args, options) => readInput(NewOperator, ['name'], args, { role: 'owner', ...options }),
    print: formatSetupLink,
  },
})

const changeRole = defineAction({
  name: 'operators.change-role',
  summary: 'Change the role of an operator',
  label: 'Changed role of operator',
  ...byOwners,
  input: NewOperator,
  console: 'operators/role',
  form: { verb: 'Change role of', isReversible: true },
  work: async ({ operators }: Needs, { name, role }) => ({
    before: await operators.accounts.changeRole(name, role),
    role,
  }),
  audit: ({ before, role }, { name }) =>
    before === role ? null : { target: name, before: { role: before }, after: { role } },
  command: null,
})

const reset = defineAction({
  name: 'operators.reset',
  summary: 'Remove an operator’s passkeys, password and sessions and print a new setup link',
  label: 'Reset sign-in of operator',
  ...byOwners,
  input: NamedOperator,
  console: 'operators/reset',
  form: {
    verb: 'Reset sign-in for',
    consequence:
      'This removes all passkeys and the password, and ends all sessions. You get a new link to send.',
    done: 'Created a new link for',
  },
  work: async (needs: Needs, { name }, { caller }) => {
    const url = requireConsole(needs)
    const by = caller.via === 'console' ? caller.name : undefined
    return createLink(url, await needs.operators.accounts.reset(name, by), needs)
  },
  audit: ({ name }) => ({ target: name }),
  command: {
    arguments: { name: '<name>' },
    risk: async (_needs, { name }) =>
      `This removes the passkeys, password and sessions of ${name}.`,
    print: formatSetupLink,
  },
})

const remove = defineAction({
  name: 'operators.remove',
  summary: 'Remove an operator and end their sessions',
  label: 'Removed operator',
  ...byOwners,
  input: NamedOperator,
  console: 'operators/remove',
  form: {
    verb: 'Remove',
    consequence: 'The operator is signed out immediately and can no longer sign in.',
    done: 'Removed',
  },
  work: async ({ operators }: Needs, { name }) => {
    await operators.accounts.remove(name)
    return { removed: name }
  },
  audit: ({ removed }) => ({ target: removed }),
  command: {
    arguments: { name: '<name>' },
    risk: async (_needs, { name }) => `This removes the operator ${name}.`,
    print: ({ removed }) => `Removed ${removed}.`,
  },
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

export const operatorActions = [add, changeRole, reset, remove]
