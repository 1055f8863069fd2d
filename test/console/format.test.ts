import { expect, test } from 'bun:test'
import { join } from 'node:path'
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

test.each([
  ['Australia/Sydney', '2026-10-04', '2026-10-03T14:00:00.000Z'],
  ['Australia/Sydney', '2027-04-04', '2027-04-03T13:00:00.000Z'],
  ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z'],
  ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z'],
  ['America/Santiago', '2026-09-06', '2026-09-06T04:00:00.000Z'],
])('in %s, %s starts at midnight, though clocks change that day', (TZ, day, start) => {
  const module = join(import.meta.dir, '../../src/console/format.ts')
  const script = `import { startOfDay } from '${module}'
    console.log(new Date(startOfDay('${day}')).toISOString())`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script], { env: { TZ } })
  expect(stdout.toString().trim()).toBe(start)
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
