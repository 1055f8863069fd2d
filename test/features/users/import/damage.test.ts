import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { createTestApp, PASSWORD } from '../../../support/app.ts'
import { runCommand } from '../../../support/commands.ts'
import { createImports, logIn } from './support.ts'

test.each([
  [
    'with an extra brace',
    '[{"email":"a@example.com"}, {"email":"b@example.com"}} , {"email":"c@example.com"}]',
  ],
  ['that ends after a user', '[{"email":"a@example.com"},\n{"email":"b@example.com"}'],
  ['that ends within a user', '[{"email":"a@example.com"},{"email":"b@example.com"},{"em'],
  [
    'from Firebase that ends after a user',
    '{"users":[{"localId":"1","email":"a@example.com"},{"localId":"2","email":"b@example.com"}',
  ],
  [
    'with another list after the first',
    '[{"email":"a@example.com"},{"email":"b@example.com"}]\n[{"email":"c@example.com"}]',
  ],
])('reports a file %s, and imports the users before the damage', async (_name, text) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await Bun.write(imports.path('users.json'), text)
  const { isFailure, outcome, printed } = await runCommand(app, 'user import', [
    imports.path('users.json'),
  ])
  expect([isFailure, outcome.imported]).toEqual([true, 2])
  expect(printed).toContain('damaged or incomplete at line')
})

test('reads only the list of users of a Firebase export', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const text = '{"users":[{"localId":"1","email":"a@example.com"}],"tenants":[{"localId":"t"}]}\n'
  await Bun.write(imports.path('users.json'), text)
  const { isFailure, outcome } = await runCommand(app, 'user import', [imports.path('users.json')])
  expect([isFailure, outcome.imported, outcome.refused]).toEqual([false, 1, 0])
})

test('reports users whose id belongs to another system’s user, and distinguishes systems by name', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ id: '1', email: 'ann@example.com' }])
  const clashing = [{ id: '1', email: 'bob@example.com' }]
  const { outcome, printed } = await imports.run(clashing)
  expect([outcome.imported, outcome.changed]).toEqual([0, 1])
  expect(printed).toContain('--source')
  const withSource = await imports.run(clashing, { source: 'shop' })
  expect([withSource.outcome.imported, withSource.outcome.changed]).toEqual([1, 0])
  const again = await imports.run(clashing, { source: 'shop' })
  expect([again.outcome.present, again.outcome.changed]).toEqual([1, 0])
})

test('refuses an import whose report cannot be written before importing any user', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const path = await imports.write([{ email: 'ann@example.com' }])
  await mkdir(`${path}.ids.jsonl`)
  await expect(runCommand(app, 'user import', [path])).rejects.toThrow('cannot be replaced')
  expect((await logIn(app, 'ann@example.com', PASSWORD)).status).toBe(401)
})
