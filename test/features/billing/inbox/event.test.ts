import { expect, test } from 'bun:test'
import { readEvent } from '../../../../src/features/billing/inbox/event.ts'

test('ignores fields of an unexpected type', () => {
  const odd = {
    type: 'RENEWAL',
    aliases: [1, null, 'a'],
    entitlement_ids: 'pro',
    price: '9',
    expiration_at_ms: '1',
  }
  const event = read(odd)
  expect(event).toMatchObject({ aliases: ['a'], entitlementIds: [], price: null, expiresAt: null })
  expect(read({ entitlement_id: 'old' })?.entitlementIds).toEqual(['old'])
})

test('reads times from 1970 up to the latest that a `Date` can hold', () => {
  const times = [0, 8.64e15, -1, 1.5, 8.64e15 + 1].map(
    (time) => read({ expiration_at_ms: time })?.expiresAt,
  )
  expect(times).toEqual([0, 8.64e15, null, null, null])
})

test('reads strings of up to 255 characters and lists of up to 1,000 items', () => {
  expect(read({ app_user_id: 'x'.repeat(255) })?.appUserId).toHaveLength(255)
  expect(read({ app_user_id: 'x'.repeat(256) })?.appUserId).toBeNull()
  const aliases = Array.from({ length: 1_001 }, (_, at) => `id-${at}`)
  expect(read({ aliases })?.aliases).toHaveLength(1_000)
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
