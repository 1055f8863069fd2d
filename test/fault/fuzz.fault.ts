import { expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { fault } from '../support/fault.ts'
import { fuzz } from '../support/fuzz.ts'
import { routeEnvironment } from '../support/routes.ts'

const COUNT = 50_000

test(`${COUNT} corrupted requests from the OpenAPI document get no 5xx and only documented responses ${fault(58)}`, async () => {
  await using app = await createTestApp({
    ...routeEnvironment,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  })
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { statuses, faults } = await fuzz(app, COUNT, seed)
  console.log(`58: seed ${seed}, ${JSON.stringify(statuses)}`)
  expect({ seed, faults }).toEqual({ seed, faults: [] })
}, 600_000)

test(`no pattern in the OpenAPI document is slow on 64 KB of text that almost matches ${fault(55)}`, async () => {
  await using app = await createTestApp({
    ...routeEnvironment,
    RATE_LIMITS: 'off',
    LOG_LEVEL: 'error',
  })
  const { json } = await app.ask('GET', '/docs/json')
  const patterns = new Set(patternsOf(json))
  expect(patterns.size).toBeGreaterThan(0)
  const pieces = ['a', '0', '-', '.', ' ', '+', '/', 'a@', 'a.', 'a-', '0-', '%', 'é', '.a@a.', '=']
  for (const pattern of patterns) {
    const expression = new RegExp(pattern, 'u')
    for (const piece of pieces) {
      const start = performance.now()
      expression.test(`${piece.repeat(65_536 / piece.length)}!`)
      const ms = performance.now() - start
      if (ms > 50) throw new Error(`${pattern} takes ${ms.toFixed(0)} ms for a repeated "${piece}"`)
    }
  }
  console.log(`55: ${patterns.size} patterns`)
})

function patternsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const patterns = 'pattern' in value && typeof value.pattern === 'string' ? [value.pattern] : []
  return [...patterns, ...Object.values(value).flatMap(patternsOf)]
}
