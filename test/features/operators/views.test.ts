import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'

const TRIALS = { name: 'Trials', path: 'people', search: '?status=trial' }

test('saves views by name, visible only to their operator', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app, { name: 'ann', role: 'reader' })
  const bob = await signInOperator(app, { name: 'bob' })
  const save = (json: object) => ann.ask('POST', 'me/views', { json })
  expect((await save({ ...TRIALS, name: ' Trials ' })).status).toBe(200)
  expect((await save({ ...TRIALS, name: 'Guests', search: '?guest=true' })).status).toBe(200)
  expect((await save({ ...TRIALS, search: '?status=trial&platform=ios' })).status).toBe(200)
  expect(await ann.read('me/views')).toEqual([
    { ...TRIALS, name: 'Guests', search: '?guest=true' },
    { ...TRIALS, search: '?status=trial&platform=ios' },
  ])
  expect(await bob.read('me/views')).toEqual([])
  const remove = { json: { name: 'Trials' } }
  expect((await bob.ask('POST', 'me/views/remove', remove)).status).toBe(404)
  expect((await ann.ask('POST', 'me/views/remove', remove)).status).toBe(200)
  expect(await ann.read('me/views')).toHaveLength(1)
})

test('refuses a view without a name, and the 51st', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const save = async (json: object) => (await ann.ask('POST', 'me/views', { json })).status
  expect(await save({ ...TRIALS, name: '  ' })).toBe(422)
  expect(await save({ ...TRIALS, path: 'https://evil.example' })).toBe(422)
  for (let at = 0; at < 50; at++) expect(await save({ ...TRIALS, name: `view ${at}` })).toBe(200)
  expect(await save({ ...TRIALS, name: 'one more' })).toBe(409)
  expect(await save({ ...TRIALS, name: 'view 7' })).toBe(200)
})
