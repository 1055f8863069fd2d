import { expect, test } from 'bun:test'
import { readEvent } from '../../../../src/features/billing/inbox/event.ts'

test('ignores fields of an unexpected type', () => {
  const odd = {
    type: 'RENEWAL',
    aliases: [1, null, 'a', {}],
    entitlement_ids: 'pro',
    price: '9',
    expiration_at_ms: 'soon',
  }
  const event = read(odd)
  expect(event).toMatchObject({
    aliases: ['1', 'a'],
    entitlementIds: [],
    price: null,
    expiresAt: null,
  })
  expect(read({ entitlement_id: 'old' })?.entitlementIds).toEqual(['old'])
})

test('uses the event_id if the id is missing', () => {
  const body = { event: { event_id: 'P', type: 'PAYWALL_CLOSE' } }
  expect(readEvent(body, Buffer.from('x'))?.id).toBe('P')
})

test('reads times from 1970 up to the latest that a `Date` can hold', () => {
  const times = [0, 8.64e15, -1, 1.5, 8.64e15 + 1, '12', ' 12.7 ', '2026-10-01T00:00:00Z', '']
  expect(times.map((time) => read({ expiration_at_ms: time })?.expiresAt)).toEqual([
    ...[0, 8.64e15, null, 1, null, 12, 12, Date.UTC(2026, 9, 1), null],
  ])
})

test('reads strings of up to 255 characters and lists of up to 4,000 items', () => {
  expect(read({ app_user_id: 'x'.repeat(255) })?.appUserId).toHaveLength(255)
  expect(read({ app_user_id: 'x'.repeat(256) })?.appUserId).toBeNull()
  const aliases = Array.from({ length: 4_001 }, (_, at) => `id-${at}`)
  expect(read({ aliases })?.aliases).toHaveLength(4_000)
})

test.each([
  [{}, 'PRODUCTION', false],
  [{ environment: 'SANDBOX' }, 'SANDBOX', true],
  [{ purchase_environment: 'sandbox' }, 'SANDBOX', true],
  [{ environment: 'PRODUCTION', purchase_environment: 'SANDBOX' }, 'PRODUCTION', true],
])('the environment of %j is %s', (fields, environment, hasEnvironment) => {
  expect(read(fields)).toMatchObject({ environment, hasEnvironment })
})

function read(fields: object) {
  return readEvent({ event: { type: 'RENEWAL', ...fields } }, Buffer.from('x'))
}
