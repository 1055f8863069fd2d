import { expect, test } from 'bun:test'
import { type BillingEvent, readEvent } from '../../../../src/features/billing/inbox/event.ts'
import {
  canAffectAccess,
  compareEvents,
  computeOrderingTime,
  findPurchaseKey,
  linkedIds,
} from '../../../../src/features/billing/purchases/event-order.ts'
import { computeOwners, findOwnerId } from '../../../../src/features/billing/purchases/ownership.ts'
import { ms } from '../../../support/billing.ts'

const RECEIVED = ms(10)

test('orders events by time, period, type and id', () => {
  const inOrder = [
    event({ id: '9', type: 'EXPIRATION', at: 1, purchased: 5 }),
    event({ id: '8', type: 'EXPIRATION', at: 2, purchased: 0 }),
    ...[
      'RENEWAL',
      'UNCANCELLATION',
      'PRODUCT_CHANGE',
      'BILLING_ISSUE',
      'SUBSCRIPTION_PAUSED',
      'CANCELLATION',
      'EXPIRATION',
      'HOMEPORT_RECONCILED',
      'TRANSFER',
    ].map((type, at) => event({ id: `${7 - at}`, type, at: 2, purchased: 1 })),
    event({ id: '6', type: 'TRANSFER', at: 2, purchased: 1 }),
  ]
  expect(inOrder.toReversed().toSorted(compareEvents)).toEqual(inOrder)
})

test.each<[string, number | null, number, boolean]>([
  ['uses a plausible time', ms(9), ms(9), false],
  ['uses a time up to a day ahead', RECEIVED + 86_400_000, RECEIVED + 86_400_000, false],
  ['uses the time of receipt for a time over a day ahead', RECEIVED + 86_400_001, RECEIVED, true],
  ['uses the time of receipt if a time is missing', null, RECEIVED, true],
])('%s', (_name, at, orderedAt, clockIsOff) => {
  const body = { event: { type: 'RENEWAL', event_timestamp_ms: at } }
  expect(computeOrderingTime(read(body), RECEIVED)).toEqual({ orderedAt, clockIsOff })
})

test('marks an event if any of its other times is implausible', () => {
  for (const [fields, clockIsOff] of [
    [{ purchased_at_ms: Date.UTC(2100, 0) - 1 }, false],
    [{ purchased_at_ms: Date.UTC(2100, 0) }, true],
    // The provider grants lifetime access for 200 years.
    [{ expiration_at_ms: Date.UTC(2222, 6) }, false],
    [{ expiration_at_ms: Date.UTC(2300, 0) }, true],
  ] as const) {
    expect(
      computeOrderingTime(
        read({ event: { type: 'RENEWAL', event_timestamp_ms: ms(9), ...fields } }),
        RECEIVED,
      ),
    ).toMatchObject({ clockIsOff })
  }
})

test.each([
  [{ original_transaction_id: 'o', transaction_id: 't' }, 'PRODUCTION|o'],
  [{ transaction_id: 't', environment: 'SANDBOX' }, 'SANDBOX|t'],
  [{ purchase_environment: 'SANDBOX', transaction_id: 't' }, 'SANDBOX|t'],
  [{ store: 'APP_STORE', product_id: 'p', app_user_id: 'u' }, 'PRODUCTION|APP_STORE|p|u'],
  [{ app_user_id: 'u' }, null],
])('the event %j is about the purchase %s', (fields, key) => {
  const event = read({ event: { type: 'RENEWAL', ...fields } })
  expect(findPurchaseKey({ ...event, problem: null })).toBe(key)
})

test.each([
  [
    'joins all ids',
    { app_user_id: 'a', original_app_user_id: 'b', aliases: ['c', 'a'] },
    ['a', 'b', 'c'],
  ],
  [
    'ignores placeholders',
    { app_user_id: 'NULL', aliases: ['Anonymous', '(null)', '[object Object]', ' ', 'a'] },
    ['a'],
  ],
  ['joins no ids for test events', { type: 'TEST', app_user_id: 'a' }, []],
  [
    'joins no ids for transfers',
    { type: 'TRANSFER', app_user_id: 'a', transferred_from: ['b'] },
    [],
  ],
  ['joins no ids for unknown types', { type: 'NEWS', app_user_id: 'a', aliases: ['b'] }, []],
  [
    'joins the ids of a redemption',
    {
      type: 'PURCHASE_REDEEMED',
      redemption_outcome: 'alias',
      redeemed_from: ['a', 'guest'],
      redeemed_by: ['b'],
    },
    ['a', 'b'],
  ],
  [
    'joins no ids for a redemption by transfer',
    {
      type: 'PURCHASE_REDEEMED',
      redemption_outcome: 'transfer',
      redeemed_from: ['a'],
      redeemed_by: ['b'],
    },
    [],
  ],
])('%s', (_name, fields, ids) => {
  const event = read({ event: { type: 'EXPIRATION', transaction_id: 't', ...fields } })
  expect(linkedIds(event)).toEqual(ids)
})

test('test events, telemetry and unknown types cannot affect access', () => {
  const types = [
    'EXPIRATION',
    'TRANSFER',
    'SUBSCRIBER_ALIAS',
    'TEST',
    'PAYWALL_CLOSE',
    'constructor',
  ]
  const users = { app_user_id: 'a', transferred_from: ['a'], transferred_to: ['b'] }
  const affecting = types.filter((type) => canAffectAccess(read({ event: { type, ...users } })))
  expect(affecting).toEqual(['EXPIRATION', 'TRANSFER', 'SUBSCRIBER_ALIAS'])
})

test('the owner is the first real id of app user id, original id and aliases', () => {
  const all = { app_user_id: 'a', original_app_user_id: 'o', aliases: ['x'] }
  const { app_user_id: _id, ...withoutId } = all
  const withPlaceholder = { ...all, app_user_id: 'Anonymous' }
  const onlyPlaceholders = { app_user_id: 'null', aliases: ['guest'] }
  const given = [all, withoutId, { aliases: ['x'] }, withPlaceholder, onlyPlaceholders, {}]
  const owners = given.map((fields) =>
    findOwnerId({ ...read({ event: { type: 'RENEWAL', ...fields } }), orderedAt: 0 }),
  )
  expect(owners).toEqual(['a', 'o', 'x', 'o', null, null])
})

test.each([
  ['moves a purchase of the user that it names', {}, ['ann', 'bob']],
  ['moves a purchase from the same store', { store: 'APP_STORE' }, ['ann', 'bob']],
  ['does not move a purchase from another store', { store: 'STRIPE' }, ['ann']],
  ['does not move a purchase in another environment', { environment: 'SANDBOX' }, ['ann']],
  ['does not move a purchase of another user', { transferred_from: ['eve'] }, ['ann']],
  ['without a destination moves no purchase', { transferred_to: [] }, ['ann']],
  ['does not move a later purchase', { at: 0 }, ['ann']],
])(
  'a transfer %s',
  (_name, { at = 2, ...fields }: Record<string, unknown> & { at?: number }, owners) => {
    const body = { type: 'TRANSFER', transferred_from: ['ann'], transferred_to: ['bob'], ...fields }
    const transfer = { ...read({ event: body }), orderedAt: ms(at) }
    const mention = { ...event({ id: '1', type: 'RENEWAL', at: 1, purchased: 0 }), name: 'ann' }
    const traits = { environment: 'PRODUCTION', store: 'APP_STORE' }
    expect(
      computeOwners([mention, { ...mention, id: '2' }], [transfer], traits, (id) => id),
    ).toEqual(owners)
  },
)

function event({
  id,
  type,
  at,
  purchased,
}: Record<'id' | 'type', string> & Record<'at' | 'purchased', number>) {
  return { id, type, orderedAt: ms(at), purchasedAt: ms(purchased) }
}

function read(body: unknown): BillingEvent {
  const event = readEvent(body, Buffer.from(''))
  if (!event) throw new Error('the body has no event')
  return event
}
