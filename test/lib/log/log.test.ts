import { expect, test } from 'bun:test'
import { createLineWriter, createLog } from '../../../src/lib/log/log.ts'
import { createTextFormat } from '../../../src/lib/log/text-log.ts'

const TEXT = 'a\u009b31m\u0085b\u202ec\u2066d\u2028e ü 漢'
const ESCAPED = 'a\\u009b31m\\u0085b\\u202ec\\u2066d\\u2028e ü 漢'

test('escapes C1, bidi and line separator characters in JSON and in text', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  log.warn({ origin: TEXT }, TEXT)
  createLineWriter(log)('info', { requestId: TEXT })
  expect(lines.map((line) => line.split(ESCAPED).length - 1)).toEqual([2, 1])
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { origin: TEXT, msg: TEXT },
    { requestId: TEXT },
  ])
  const text = lines.map(createTextFormat(false)).join('')
  expect(text).not.toMatch(/[\x7f-\x9f\u2028\u202e\u2066]/)
  expect(text.split('\\u202ec\\u2066d\\u2028e ü 漢')).toHaveLength(4)
})
