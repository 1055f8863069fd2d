import { expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { fuzz } from '../support/fuzz.ts'

const COUNT = 50_000

test(`58: ${COUNT} requests made from the document and spoilt get no 5xx, and replies that it describes`, async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off', LOG_LEVEL: 'error' })
  const seed = Math.floor(Math.random() * 2 ** 31)
  const { statuses, faults } = await fuzz(app, COUNT, seed)
  console.log(`58: seed ${seed}, ${JSON.stringify(statuses)}`)
  expect({ seed, faults }).toEqual({ seed, faults: [] })
}, 600_000)
