import { expect, test } from 'bun:test'
import { createSemaphore } from '../../src/lib/semaphore.ts'

const full = () => new Error('full')

test('so much runs side by side, so many wait in order, one more is refused', async () => {
  const inTurn = createSemaphore({ limit: 2, queueLimit: 2, onFull: full })
  const order: number[] = []
  const work = (at: number) =>
    inTurn(async () => void order.push(at, await Bun.sleep(5).then(() => at)))
  const started = [0, 1, 2, 3].map(work)
  await expect(work(4)).rejects.toThrow('full')
  await Promise.all(started)
  expect(order.filter((_, at) => at % 2 === 1)).toEqual([0, 1, 2, 3])
  await work(5)
})

test('who would wait too long is refused at once, and who has waited too long leaves', async () => {
  const inTurn = createSemaphore({ limit: 1, queueLimit: 100, maxWait: 40, onFull: full })
  const slow = () => inTurn(() => Bun.sleep(100))
  const first = slow()
  const start = performance.now()
  await expect(slow()).rejects.toThrow('full')
  expect(performance.now() - start).toBeWithin(30, 90)
  await first
  const second = slow()
  const asked = performance.now()
  for (let at = 0; at < 3; at++) await slow().catch(() => {})
  expect(performance.now() - asked).toBeLessThan(80)
  await second
  expect(await inTurn(async () => 'free')).toBe('free')
})
