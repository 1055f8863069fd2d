import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { t } from 'elysia'
import { UsageError } from '../../src/lib/command.ts'
import { ROLES } from '../../src/lib/roles.ts'
import { describeOptions, readInput, toCommands } from '../../src/platform/actions/command-line.ts'
import { CONSOLE_API } from '../../src/platform/http/console-guard.ts'
import { closedObject, integer, literalUnion } from '../../src/platform/http/replies/envelope.ts'
import { createConsoleApp } from '../../src/server/app.ts'
import { actions, auditLabels } from '../../src/server/declarations.ts'
import { createTestApp } from '../support/app.ts'
import { signInOperator } from '../support/operator.ts'

const MINUTE = 60_000
/** An audit entry that is recorded without an action. */
const ENTRY = /\baction: '([a-z-]+\.[a-z-]+)'/g
const BUTTON = /<Action(?:Button|Form)\s+path="([^"]+)"/g
const offered = actions.filter(({ console: path }) => path !== null)

describe('the console', () => {
  test('refuses each action to operators with a lower role', async () => {
    await using app = await createTestApp()
    for (const role of ['reader', 'operator'] as const) {
      const operator = await signInOperator(app, { name: role, role })
      const tooHigh = offered.filter((one) => ROLES.indexOf(one.role) > ROLES.indexOf(role))
      expect(tooHigh.length).toBeGreaterThan(role === 'reader' ? 5 : -1)
      for (const action of tooHigh) expect(await call(operator, action)).toBe(403)
    }
  })

  test('requires a recent proof only for the actions that declare it', async () => {
    await using app = await createTestApp()
    const owner = await signInOperator(app)
    app.clock.advance(11 * MINUTE)
    const refused = []
    for (const action of offered) if ((await call(owner, action)) === 403) refused.push(action.name)
    const withProof = offered.filter(({ proof }) => proof === 'stepUp')
    expect(refused).toEqual(withProof.map(({ name }) => name))
  })

  /** The status for a call with a body that no action accepts, so that nothing is changed. */
  async function call(
    { ask }: Awaited<ReturnType<typeof signInOperator>>,
    action: (typeof actions)[number],
  ) {
    const path = String(action.console).replaceAll(/:\w+/g, 'unknown')
    const options = action.fileName ? {} : { json: { unknownMember: 1 } }
    return (await ask(action.fileName ? 'GET' : 'POST', path, options)).status
  }
})

test('exactly the actions with texts for the console have buttons or forms there', async () => {
  const root = join(import.meta.dir, '../../src/console')
  const used = new Set<string>()
  for await (const path of new Bun.Glob('**/*.tsx').scan(root))
    for (const [, name = ''] of (await Bun.file(join(root, path)).text()).matchAll(BUTTON))
      used.add(name)
  const declared = actions.filter(({ form }) => form).map((one) => one.console)
  expect([...used].toSorted()).toEqual(declared.toSorted() as string[])
})

test('no two actions share a name, a path or a command', () => {
  const commands = toCommands(actions).map(({ name }) => name)
  for (const values of [
    actions.map(({ name }) => name),
    offered.map((one) => one.console),
    commands,
  ])
    expect(new Set<unknown>(values).size).toBe(values.length)
})

test('every entry of the audit log has a label', async () => {
  const root = join(import.meta.dir, '../../src')
  const recorded = []
  for await (const path of new Bun.Glob('{features,operations,cli}/**/*.ts').scan(root))
    for (const [, name] of (await Bun.file(join(root, path)).text()).matchAll(ENTRY))
      recorded.push(name)
  expect(recorded.length).toBeGreaterThan(5)
  expect(recorded.filter((name) => !Object.hasOwn(auditLabels, name ?? ''))).toEqual([])
})

test('the console changes data only through actions, except for sign-in and the operator’s own data', async () => {
  await using app = await createTestApp()
  const posts = createConsoleApp(app.services).routes.filter(({ method }) => method === 'POST')
  const paths = posts.map(({ path }) => path.replace(`${CONSOLE_API}/`, ''))
  const others = paths.filter((path) => !offered.some((one) => one.console === path))
  expect(others.filter((path) => !/^(login|me|preview)(\/|$)/.test(path))).toEqual([])
})

describe('a command line', () => {
  const schema = closedObject({
    id: t.String({ description: 'the id' }),
    events: t.Array(t.String(), { description: '`all`, or a list' }),
    count: t.Optional(integer({ minimum: 1, description: 'how many' })),
    until: t.Optional(t.String({ format: 'date-time', description: 'the end' })),
    role: t.Optional(literalUnion(ROLES, { description: 'the role' })),
    forever: t.Optional(t.Boolean({ description: 'without an end' })),
    confirm: t.Optional(t.String({ isForConsole: true })),
  })
  const read = (args: string[], options: Record<string, string | boolean>) =>
    readInput(schema, ['id'], args, options)

  test('has an option for each member that is not an argument', () => {
    expect(describeOptions(schema, ['id'])).toEqual([
      ['--events <events>', 'all, or a list', 'list'],
      ['--count <number>', 'how many'],
      ['--until <time>', 'the end'],
      ['--role <role>', 'the role'],
      ['--forever', 'without an end'],
    ])
  })

  test('is parsed by the schema', () => {
    const options = {
      events: 'a, b',
      count: '3',
      until: '2027-01-01',
      role: 'owner',
      forever: true,
    }
    expect(read(['x'], options)).toEqual({
      id: 'x',
      events: ['a', 'b'],
      count: 3,
      // The next day, because a date given as the end is included.
      until: '2027-01-02T00:00:00.000Z',
      role: 'owner',
      forever: true,
    })
  })

  test.each([
    [{}, 'Specify --events: all, or a list.'],
    [{ events: 'a', count: '0' }, '--count must be a whole number of at least 1.'],
    [{ events: 'a', count: '1.5' }, '--count must be a whole number of at least 1.'],
    [{ events: 'a', role: 'king' }, '--role must be one of reader, operator, owner.'],
    [{ events: 'a', until: 'soon' }, '--until must be a time in ISO 8601'],
  ])('refuses %j', (options: Record<string, string>, message) => {
    expect(() => read(['x'], options)).toThrow(UsageError)
    expect(() => read(['x'], options)).toThrow(message)
  })
})
