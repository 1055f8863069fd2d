import { expect, test } from 'bun:test'
import { webhookLists } from '../../../src/features/webhooks/lists.ts'
import { toListCommands } from '../../../src/platform/lists/command-line.ts'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'

test('a command filters a list by the members of its query', () => {
  const deliveries = toListCommands(webhookLists).find(({ name }) => name === 'deliveries list')
  expect(deliveries?.options?.map(([flags]) => flags)).toEqual([
    '--endpoint <id>',
    '--state <state>',
    '--sort <sort>',
    '--after <cursor>',
    '--limit <count>',
  ])
  const state = { state: 'lost' }
  expect(() => deliveries?.input?.([], state)).toThrow('--state must be one of waiting')
  expect(() => deliveries?.input?.([], { limit: '0' })).toThrow('--limit must be a whole number')
})

test('refuses to sort deliveries by a column without an index', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  expect((await browser.ask('GET', 'deliveries?sort=state')).status).toBe(422)
})
