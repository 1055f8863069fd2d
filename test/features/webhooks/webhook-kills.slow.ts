import { expect, test } from 'bun:test'
import { fault } from '../../support/fault.ts'
import { killEmitters } from './support/kills.ts'

test(`delivers every event of a committed change even if the process is killed three times ${fault('1a')}`, async () => {
  const { acknowledged } = await killEmitters(3)
  expect(acknowledged).toBeGreaterThan(20)
}, 60_000)
