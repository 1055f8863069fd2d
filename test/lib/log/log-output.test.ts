import { afterEach, beforeEach, expect, test } from 'bun:test'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countDroppedLines, createLogOutput } from '../../../src/lib/log/log-output.ts'
import { until } from '../../support/until.ts'

const LINE = `${'x'.repeat(1023)}\n`
const MEGABYTE = 1024

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-output-'))
})
afterEach(() => rm(folder, { recursive: true }))

test.each([
  ['blocks', 0],
  ['refuses writes', constants.O_NONBLOCK],
])('drops and counts lines while an unread pipe %s', async (_kind, flags) => {
  const path = join(folder, 'pipe')
  await Bun.$`mkfifo ${path}`
  const pipe = openSync(path, constants.O_RDWR | flags)
  const output = createLogOutput(pipe)
  const before = countDroppedLines()
  for (let written = 0; written < 4 * MEGABYTE; written++) output.write(LINE)
  const dropped = countDroppedLines() - before
  expect(dropped).toBeGreaterThan(2 * MEGABYTE)

  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let text = ''
  await until(async () => {
    text += readAvailable(reader)
    return text.includes(' lines dropped from this log"}\n')
  }, 'the log does not say that lines were dropped')
  const reports = [...text.matchAll(/"msg":"(\d+) lines dropped/g)]
  expect(reports.map(([, count]) => Number(count))).toEqual([dropped])
  expect(text.split(LINE).length - 1).toBe(4 * MEGABYTE - dropped)
  for (const descriptor of [pipe, reader]) closeSync(descriptor)
})

test('counts lines that could not be written to a log file, and reports them later', async () => {
  const taken: string[] = []
  let isFull = true
  const output = createLogOutput({
    write(bytes) {
      if (isFull) throw new Error('ENOSPC')
      taken.push(Buffer.from(bytes).toString())
    },
  })
  const before = countDroppedLines()
  for (let written = 0; written < 64; written++) output.write(LINE)
  expect(countDroppedLines() - before).toBe(64)
  isFull = false
  await until(() => taken.length > 0, 'nothing was written')
  expect(taken.join('')).toContain('"msg":"64 lines dropped from this log"')
})

function readAvailable(descriptor: number): string {
  const bytes = Buffer.alloc(256 * 1024)
  try {
    return bytes.toString('latin1', 0, readSync(descriptor, bytes))
  } catch {
    return ''
  }
}
