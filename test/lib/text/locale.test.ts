import { expect, test } from 'bun:test'
import { asLocale, asTimezone } from '../../../src/lib/text/locale.ts'

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['AMERICA/PORT_OF_SPAIN', 'America/Port_of_Spain'],
  ['asia/calcutta', 'Asia/Calcutta'],
  ['asia/kolkata', 'Asia/Kolkata'],
  ['Europe/Kyiv', 'Europe/Kyiv'],
  ['etc/gmt+5', 'Etc/GMT+5'],
  ['est5edt', 'EST5EDT'],
  ['UTC', 'utc'],
  ['utc', 'utc'],
  ['Etc/UTC', 'Etc/UTC'],
  ['gmt', 'GMT'],
  ['GMT+05:30', '+05:30'],
  ['+05:30', '+05:30'],
  ['+0530', '+05:30'],
  ['UTC+2', '+02:00'],
  ['GMT−3', '-03:00'],
  ['gmt-03', '-03:00'],
  ['GMT+0', 'utc'],
  ['UTC+00:00', 'utc'],
])('%p is the time zone %p', (name, timezone) => {
  expect(asTimezone(name)).toBe(timezone)
  expect(asTimezone(timezone)).toBe(timezone)
})

test.each([
  'Mars/Base',
  '',
  'PST',
  '+24:00',
  'UTC+19',
  '+5:7',
  '+05:60',
  'GMT+',
  `a${'b'.repeat(70)}`,
])('%p is not a time zone', (name) => expect(asTimezone(name)).toBe(null))

test.each([
  ['de_DE', 'de-DE'],
  ['de_DE.UTF-8', 'de-DE'],
  ['de_DE.utf8@euro', 'de-DE'],
  ['zh_Hans_CN', 'zh-Hans-CN'],
  ['zh_CN_#Hans', 'zh-Hans-CN'],
  ['sr__#Latn', 'sr-Latn'],
  ['zh-Hant_TW', 'zh-Hant-TW'],
  ['en_US@calendar=gregorian', 'en-US'],
  ['pt-br', 'pt-BR'],
  ['iw_IL', 'he-IL'],
])('%p is the language %p', (tag, locale) => expect(asLocale(tag)).toBe(locale))

test.each([
  '',
  '_',
  'de_',
  'C',
  'C.UTF-8',
  'not a tag',
  'ann@example.com',
  '.UTF-8',
  `de_${'x'.repeat(40)}`,
])('%p is not a language', (tag) => expect(asLocale(tag)).toBe(null))
