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
