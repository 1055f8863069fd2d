import { expect, test } from 'bun:test'
import { onQuietAfterLoad } from '../../src/lib/quiet-time.ts'

test('work waits for the end of a busy time, and is done once', async () => {
  let done = 0
  const stop = onQuietAfterLoad(() => done++, 150)
  busyFor(200)
  await Bun.sleep(0)
  expect(done).toBe(0)
  while (done === 0) await Bun.sleep(50)
  await Bun.sleep(400)
  expect(done).toBe(1)
  stop()
})

function busyFor(ms: number) {
  const end = performance.now() + ms
  while (performance.now() < end);
}
