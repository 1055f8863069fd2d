import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'

test('does not log the query of a webhook URL, which is often a secret', async () => {
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const url = 'https://example.com/hook?token=secret'
  await runCommand(app, 'webhooks add', [url], { events: 'all' })
  const { entries } = await app.services.operators.audit.list({})
  const [added] = entries.map((entry) => JSON.stringify(entry))
  expect(added).toContain('https://example.com/hook?…')
})
