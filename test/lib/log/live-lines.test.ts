import { expect, test } from 'bun:test'
import { createLiveLines } from '../../../src/lib/log/live-lines.ts'
import { createTestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'

test('passes every line on to its stream', () => {
  const { lines, written, write } = createLines()
  write(3)
  expect(written).toEqual(['line 0', 'line 1', 'line 2'])
  expect(lines.last()).toEqual(written)
})

test('keeps the last 500 lines, the oldest first', () => {
  const { lines, write } = createLines()
  expect(lines.last()).toEqual([])
  write(500)
  expect([lines.last()[0], lines.last().length]).toEqual(['line 0', 500])
  write(1)
  expect([lines.last()[0], lines.last().at(-1)]).toEqual(['line 1', 'line 500'])
  write(1_234)
  expect(lines.last()).toEqual(Array.from({ length: 500 }, (_, at) => `line ${1_235 + at}`))
})

test('sends new lines to a follower until it leaves, without affecting others', () => {
  const { lines, write } = createLines()
  const [ann, bob]: [string[], string[]] = [[], []]
  write(1)
  const leave = lines.follow((line) => ann.push(line), never)
  lines.follow((line) => bob.push(line), never)
  write(1)
  leave()
  leave()
  write(1)
  expect(ann).toEqual(['line 1'])
  expect(bob).toEqual(['line 1', 'line 2'])
})

test('closes all followers, even while some are leaving', () => {
  const { lines } = createLines()
  const gone: string[] = []
  for (const name of ['ann', 'bob', 'eve']) {
    const leave = lines.follow(
      () => {},
      () => {
        gone.push(name)
        leave()
      },
    )
  }
  lines.close()
  lines.close()
  expect(gone).toEqual(['ann', 'bob', 'eve'])
})

test('the console streams recent and new lines as events until the log closes', async () => {
  await using app = await createTestApp()
  const { cookie } = await signInOperator(app)
  const { liveLines } = app.services
  const log = liveLines.tee({ write() {} })
  log.write('{"msg":"before"}\n')
  const request = new Request('http://localhost/console/api/live', { headers: { cookie } })
  const reply = await app.app.handle(request)
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const text = reply.text()
  log.write('{"msg":"after"}\n')
  liveLines.close()
  expect(await text).toBe('retry: 1000\n\ndata: {"msg":"before"}\n\ndata: {"msg":"after"}\n\n')
})

test('forgets a reader that disconnects', async () => {
  await using app = await createTestApp()
  const { cookie } = await signInOperator(app)
  const request = new Request('http://localhost/console/api/live', { headers: { cookie } })
  const { body } = await app.app.handle(request)
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const log = app.services.liveLines.tee({ write() {} })
  log.write('{}\n')
  const nextText = async () => new TextDecoder().decode((await reader.read()).value)
  expect([await nextText(), await nextText()]).toEqual(['retry: 1000\n\n', 'data: {}\n\n'])
  await reader.cancel()
  for (let at = 0; at < 3; at++) log.write('{}\n')
  app.services.liveLines.close()
})

function createLines() {
  const lines = createLiveLines()
  const written: string[] = []
  const stream = lines.tee({ write: (line: string) => written.push(line) })
  let count = 0
  return { lines, written, write }

  function write(times: number) {
    for (let at = 0; at < times; at++) stream.write(`line ${count++}`)
  }
}

function never() {
  throw new Error('nothing was closed')
}
