import { expect, test } from 'bun:test'
import { plainCode } from '../../../src/lib/passwords/recovery-codes.ts'

test.each([
  ['Arabic digits', '٠١٢٣٤٥', '012345'],
  ['Persian digits', '۱۲۳ ۴۵۶', '123456'],
  ['Devanagari digits', '१२३४५६', '123456'],
  ['full-width digits', '１２３４５６', '123456'],
  ['digits beyond the basic plane', '𝟗𝟖𝟕𝟔𝟓𝟒', '987654'],
  ['a left-to-right mark', '\u200e123456\u200e', '123456'],
  ['several kinds of spaces', '123\u00a04\u202f5\u30006\n', '123456'],
  ['several kinds of dashes', '7k2m\u20139qxr\u20114twb', '7k2m9qxr4twb'],
  ['letters that look like digits', 'oIlO7K', '01107k'],
])('reads a code with %s', (_what, typed, code) => expect(plainCode(typed)).toBe(code))

test('reads each decimal digit of Unicode as its value', () => {
  for (let zero = 1; zero < 0x110000; zero++) {
    if (!/^\P{Nd}\p{Nd}/u.test(String.fromCodePoint(zero - 1, zero))) continue
    const digits = Array.from({ length: 10 }, (_, value) => String.fromCodePoint(zero + value))
    expect(plainCode(digits.join(''))).toBe('0123456789')
  }
})
