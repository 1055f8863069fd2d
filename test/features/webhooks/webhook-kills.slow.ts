import { expect, test } from 'bun:test'
import { killEmitters } from '../../support/webhook-kills.ts'

test('1a: every event of a committed change arrives although the process is killed three times', async () => {
  const { acknowledged } = await killEmitters(3)
  expect(acknowledged).toBeGreaterThan(20)
}, 60_000)
