import { expect, test } from 'bun:test'
import { declareModels } from '../../scripts/client-models.ts'

const DECLARED = /^ *(export type \w+|\w+\??:)/

test('the package explains every type of the server and every field of it', () => {
  const lines = declareModels().split('\n')
  expect(lines.filter((line) => DECLARED.test(line)).length).toBeGreaterThan(200)
  const unexplained = lines.filter(
    (line, at) => DECLARED.test(line) && !/^ *\/\*\* .+\. \*\/$/.test(lines[at - 1] ?? ''),
  )
  expect(unexplained).toEqual([])
})
