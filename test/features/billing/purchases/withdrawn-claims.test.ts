import { expect, test } from 'bun:test'
import {
  computeOwners,
  type OwnerMention,
} from '../../../../src/features/billing/purchases/ownership.ts'

const TRAITS = { environment: 'PRODUCTION', store: 'APP_STORE' }

test('a withdrawn claim restores the previous owner, and later suggestions of its user do not count', () => {
  const before = mention(1, 'bob', { isHint: true })
  const claim = mention(2, 'ann', { isSubmission: true })
  const withdrawal = mention(3, '', { withdraws: claim.id })
  const hint = mention(4, 'ann', { isHint: true })
  expect(ownersIn([before, claim, hint])).toEqual(['bob', 'ann'])
  expect(ownersIn([before, claim, withdrawal, hint])).toEqual(['bob'])
  expect(ownersIn([claim, withdrawal, hint])).toEqual([])
})

test('a claim after a withdrawal counts', () => {
  const claim = mention(1, 'ann', { isSubmission: true })
  const withdrawal = mention(2, '', { withdraws: claim.id })
  const again = mention(3, 'ann', { isSubmission: true })
  expect(ownersIn([claim, withdrawal, again])).toEqual(['ann'])
})

test('granted access stays with its user after a transfer', () => {
  const granted = mention(1, 'ann', {})
  const transfer = {
    orderedAt: 2,
    purchasedAt: null,
    type: 'TRANSFER',
    id: 'E2',
    store: null,
    transferredFrom: ['ann'],
    transferredTo: ['bob'],
  }
  const ownersAfter = (isGrant: boolean) =>
    computeOwners([granted], [transfer as never], { ...TRAITS, isGrant }, (id) => id)
  expect([ownersAfter(false), ownersAfter(true)]).toEqual([['ann', 'bob'], ['ann']])
})

function mention(orderedAt: number, name: string, fields: Partial<OwnerMention>): OwnerMention {
  return { orderedAt, purchasedAt: null, type: 'RENEWAL', id: `E${orderedAt}`, name, ...fields }
}

function ownersIn(mentions: OwnerMention[]) {
  return computeOwners(mentions, [], TRAITS, (id) => id)
}
