import { expect, test } from 'bun:test'
import { countryName, currencyName, value } from '../../src/console/format.ts'

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

test.each<[unknown, string]>([
  [{ en: 'Yes', 'pt-BR': 'Sim' }, 'English: Yes; Brazilian Portuguese: Sim'],
  [{ messages: 5, day: null }, 'messages: 5; day: –'],
  [['ios', 'android'], 'ios, android'],
  [[{ code: 'a' }, { code: 'b' }], 'code: a, code: b'],
  [4.5, '4.5'],
  [[], '–'],
  [{}, '–'],
])('shows %j as text', (input, text) => {
  expect(value(input)).toBe(text)
})
