import { expect, test } from 'bun:test'
import { toListCommands } from '../../../src/platform/lists/command-line.ts'
import { auditLabels, lists } from '../../../src/server/declarations.ts'
import { createTestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

const BYTE_ORDER_MARK = '\u{feff}'
const OWN_PATH = /^(people|usage)\/:id/
const rows = (text: string) => text.replace(BYTE_ORDER_MARK, '').split('\r\n')

test('each list has a page for readers and a file with its declared columns', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const owner = await signInOperator(app)
  for (const list of lists.filter(({ name }) => name !== 'backups' && name !== 'rates')) {
    const path = list.console.replace(':id', user._id)
    if (!list.isPart) await owner.read(path)
    const { status, text } = await owner.ask('GET', `${path}/export.csv`)
    expect([list.name, status]).toEqual([list.name, 200])
    expect(rows(text)[0]).toBe(Object.keys(list.columns).join(','))
  }
})

test('exporting a personal list requires an operator, and is audited with a label', async () => {
  await using app = await createTestApp()
  const reader = await signInOperator(app, { name: 'reader', role: 'reader' })
  const operator = await signInOperator(app, { name: 'operator', role: 'operator' })
  const personal = lists.filter(({ isPersonal }) => isPersonal)
  expect(personal.length).toBeGreaterThan(5)
  for (const { name, console: path } of personal.filter((list) => !OWN_PATH.test(list.console))) {
    expect((await reader.ask('GET', `${path}/export.csv`)).status).toBe(403)
    expect((await operator.ask('GET', `${path}/export.csv`)).status).toBe(200)
    const { entries } = await operator.read(`audit?action=${name}.export-csv`)
    expect(entries).toHaveLength(1)
    expect(auditLabels).toHaveProperty([`${name}.export-csv`])
  }
})

test('no two lists share a command', () => {
  const commands = toListCommands(lists)
  expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length)
})

test('lists users newest first, or by address for a prefix', async () => {
  await using app = await createTestApp()
  for (const email of ['zoe@example.com', 'ann@example.com', 'zac@example.com'])
    await app.register(email)
  const list = async (args: string[]) => {
    const { outcome } = await runCommand(app, 'users list', args)
    return (outcome as { users: { email: string }[] }).users.map(({ email }) => email)
  }
  expect(await list([])).toEqual(['zac@example.com', 'ann@example.com', 'zoe@example.com'])
  expect(await list(['z'])).toEqual(['zac@example.com', 'zoe@example.com'])
})
