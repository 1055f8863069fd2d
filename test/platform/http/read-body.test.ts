import { expect, test } from 'bun:test'
import { readBody } from '../../../src/platform/http/body.ts'

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
