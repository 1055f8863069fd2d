import type { Json, JsonRecord } from './types.ts'

export function expectMatch(actual: Json, expected: Json, what: string) {
  const wrong = differences(actual, expected, what)
  if (wrong !== null) throw new Error(wrong)
}

/** Describes the first difference from the expected value, as `Outcome` defines it; null if there is none. */
export function differences(actual: Json, expected: Json, at = 'value'): string | null {
  const fail = () => `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`
  if (expected === null || expected === undefined) return actual == null ? null : fail()
  if (typeof expected !== 'object') return Object.is(actual, expected) ? null : fail()
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return fail()
    return first(expected.map((one, index) => differences(actual[index], one, `${at}.${index}`)))
  }
  const { $any, $not, $matches, $length } = expected as JsonRecord
  if ($any === true) return actual == null ? fail() : null
  if ($not !== undefined) return differences(actual, $not) === null ? fail() : null
  if ($matches !== undefined)
    return typeof actual === 'string' && new RegExp(String($matches)).test(actual) ? null : fail()
  if ($length !== undefined)
    return Array.isArray(actual) && actual.length === $length ? null : fail()
  if (typeof actual !== 'object' || actual === null) return fail()
  const names = Object.keys(expected)
  return first(
    names.map((name) =>
      differences((actual as JsonRecord)[name], (expected as JsonRecord)[name], `${at}.${name}`),
    ),
  )
}

function first(wrongs: (string | null)[]): string | null {
  return wrongs.find((wrong) => wrong !== null) ?? null
}
