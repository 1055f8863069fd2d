import { expect, test } from 'bun:test'
import { countryName, currencyName } from '../../src/console/format.ts'

test.each(['T1', 'XYZ-1', ''])('names a country whose code is %p', (code) => {
  expect(countryName(code)).toBe(code || 'Unknown country')
})

test('names countries and currencies', () => {
  expect([countryName('BR'), currencyName('BRL'), currencyName('1')]).toEqual([
    'Brazil',
    'Brazilian Real',
    '1',
  ])
})
