import { expect, test } from 'bun:test'
import { matchLanguage } from '../../../src/platform/http/request-headers.ts'

test('matching many distinct language tags leaks no memory', () => {
  const available = ['en', 'de', 'pt-BR']
  const match = (from: number, to: number) => {
    for (let at = from; at < to; at++) matchLanguage([tagOf(at)], available, 'en')
  }
  match(0, 3_000)
  const before = heapBytes()
  match(3_000, 40_000)
  expect(heapBytes() - before).toBeLessThan(4e6)
})

test('matches languages across regions after any number of tags', () => {
  for (let at = 0; at < 3_000; at++) matchLanguage([tagOf(at)], ['en', 'de'], 'en')
  expect(matchLanguage(['pt-PT'], ['en', 'pt-BR'], 'en')).toBe('pt-BR')
  expect(matchLanguage(['de-CH'], ['en', 'de'], 'en')).toBe('de')
  expect(matchLanguage(['zh-TW'], ['en', 'zh-Hans', 'zh-Hant'], 'en')).toBe('zh-Hant')
  expect(matchLanguage(['nb-NO'], ['en', 'no'], 'en')).toBe('no')
  expect(matchLanguage(['fil-PH'], ['en', 'fil'], 'en')).toBe('fil')
})

function heapBytes(): number {
  Bun.gc(true)
  return process.memoryUsage().heapUsed
}

/** A well-formed language tag, such as `qkz-Abcd`. */
function tagOf(at: number): string {
  const letter = (place: number) => String.fromCharCode(97 + (Math.floor(at / 26 ** place) % 26))
  return `${letter(0)}${letter(1)}${letter(2)}-${letter(3).toUpperCase()}bcd`
}
