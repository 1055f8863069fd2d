import { expect, test } from 'bun:test'
import { stripeConditions } from '../../../src/features/stores/stripe/conditions.ts'
import { EVENT_TYPES } from '../../../src/features/stores/stripe/events/notification.ts'

test('the documented Dart client refreshes an expired token', async () => {
  expect(await Bun.file('docs/google-play-flutter.md').text()).toContain('token_expired')
})

test('the web checkout page names every webhook event and every condition', async () => {
  const page = await Bun.file('docs/web-checkout.md').text()
  const [, block = ''] = page.match(/```text\n(.*?)```/s) ?? []
  const listed = block.trim().split(/\s+/)
  expect(listed.toSorted()).toEqual(EVENT_TYPES.toSorted())
  for (const name of Object.keys(stripeConditions)) expect(page).toContain(`| \`${name}\` |`)
})
