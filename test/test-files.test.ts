import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const files = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(import.meta.dir)]
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(import.meta.dir, path), 'utf8') }))

test('no test name begins with a number and a colon', () => {
  const numbered = /(?<!console\.log\(\s*)(?<=[([]\s*)['"`]\d+[a-z]?(?:(?:, | to )\d+[a-z]?)*: .*/g
  const violations = files.flatMap(({ path, text }) =>
    [...text.matchAll(numbered)].map(([name]) => `${path}: ${name}`),
  )
  expect(violations).toEqual([])
})

/** Files that may sleep: the helpers, and tests whose load or faults last for a time. */
const MAY_SLEEP = /(^|\/)(support|fault|soak|bench)\/|\/bench\.ts$|\.fault\.ts$/

/** It sleeps in pages for a browser. */
const SLEEPING_PAGES = 'client/tabs.slow.ts'

test('tests wait for conditions, not for fixed times', () => {
  const sleep = /\bBun\.sleep(?:Sync)?\(|\bsetTimeout\(|\btimers\/promises\b|\bscheduler\.wait\b/g
  const violations = files
    .filter(({ path }) => !MAY_SLEEP.test(path) && path !== SLEEPING_PAGES)
    .flatMap(({ path, text }) => [...text.matchAll(sleep)].map(([call]) => `${path}: ${call}`))
  expect(violations).toEqual([])
})
