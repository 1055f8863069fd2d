import { expect, test } from 'bun:test'
import { readBody } from '../../../src/platform/http/body/body.ts'

test('stops reading a chunked body at the limit, whatever length it announces', async () => {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent++
      if (sent > 100) controller.close()
      else controller.enqueue(new Uint8Array(10))
    },
  })
  const headers = { 'content-length': '4', 'transfer-encoding': 'chunked' }
  const request = new Request('http://localhost/', { method: 'POST', headers, body })
  expect(request.headers.get('content-length')).toBe('4')
  await expect(readBody(request, 50)).rejects.toThrow('must not exceed 50 bytes')
  expect(sent).toBeLessThan(20)
})

test.each([100, 40_000])(
  'refuses a body of %d bytes that stalls for minutes with 408',
  async (length) => {
    const clock = performance.now
    let now = 0
    performance.now = () => now
    try {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(10)),
      })
      const headers = { 'content-length': String(length) }
      const request = new Request('http://localhost/', { method: 'PUT', headers, body })
      const reading = readBody(request, 64 * 1024)
      now += 75_000
      await expect(Promise.race([reading, Promise.resolve('waits')])).resolves.toBe('waits')
      now += 80_000
      await expect(reading).rejects.toMatchObject({ code: 'request_timeout' })
    } finally {
      performance.now = clock
    }
  },
)
