import { expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogFile } from '../../src/lib/log-file.ts'

test('a full log moves aside, whole lines at a time, and only so many are kept', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-log-'))
  const path = join(folder, 'log')
  const line = (number: number) => Buffer.from(`${String(number).padStart(9)}\n`)
  for (let number = 0; number < 60; number++) createLogFile(path, 100, 2).write(line(number))
  expect((await readdir(folder)).toSorted()).toEqual(['log', 'log.1', 'log.2'])
  const text = await Promise.all(
    ['log.2', 'log.1', 'log'].map((name) => Bun.file(join(folder, name)).text()),
  )
  expect(text.join('').trim().split('\n').map(Number)).toEqual(
    Array.from({ length: 30 }, (_, at) => at + 30),
  )
  await rm(folder, { recursive: true })
})
