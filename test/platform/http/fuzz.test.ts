import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { fuzz } from '../../support/fuzz.ts'
import { routeEnvironment } from '../../support/routes.ts'

test(`fuzzed requests get documented responses and no 5xx ${fault(58)}`, async () => {
  await using app = await createTestApp({ ...routeEnvironment, RATE_LIMITS: 'off' })
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { statuses, faults } = await fuzz(app, 500, seed)
  expect({ seed, faults }).toEqual({ seed, faults: [] })
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '400', '401', '422']))
}, 60_000)
