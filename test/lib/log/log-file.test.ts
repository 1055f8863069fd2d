import { afterEach, beforeEach, expect, test } from 'bun:test'
import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  renameSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogFile, openLogTarget } from '../../../src/lib/log/log-file.ts'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-log-'))
  path = join(folder, 'log')
})
afterEach(() => rm(folder, { recursive: true }))

test('rotates a full log between lines and keeps a limited number of old log files', async () => {
  const limits = { maxBytes: 100, keptFiles: 2 }
  for (let number = 0; number < 60; number++) createLogFile(path, limits).write(line(number))
  expect((await readdir(folder)).toSorted()).toEqual(['log', 'log.1', 'log.2'])
  const text = await Promise.all(['log.2', 'log.1', 'log'].map(read))
  expect(text.join('').trim().split('\n').map(Number)).toEqual(
    Array.from({ length: 30 }, (_, at) => at + 30),
  )
})

test('keeps no old log if the limit is 0', async () => {
  const log = createLogFile(path, { maxBytes: 100, keptFiles: 0 })
  for (let number = 0; number < 25; number++) log.write(line(number))
  expect(await readdir(folder)).toEqual(['log'])
  expect(await read('log')).toBe([20, 21, 22, 23, 24].map(line).join(''))
})

test('opens a new file after the log was renamed or removed', async () => {
  const log = createLogFile(path, { maxBytes: 100, keptFiles: 2 })
  log.write(line(1))
  renameSync(path, `${path}.moved`)
  log.write(line(2))
  expect(await read('log.moved')).toBe(line(1).toString())
  expect(await read('log')).toBe(line(2).toString())
  await rm(path)
  log.write(line(3))
  expect(await read('log')).toBe(line(3).toString())
})

test('uses the actual size of a log that another program also writes or truncates', async () => {
  const log = createLogFile(path, { maxBytes: 100, keptFiles: 2 })
  log.write(line(1))
  truncateSync(path)
  for (let number = 0; number < 10; number++) log.write(line(number))
  expect(existsSync(`${path}.1`)).toBe(false)
  appendFileSync(path, 'from another process\n')
  log.write(line(10))
  expect(await read('log')).toBe(line(10).toString())
})

test('keeps writing to a full log that cannot be moved aside', async () => {
  const log = createLogFile(path, { maxBytes: 20, keptFiles: 1 })
  log.write(line(1))
  log.write(line(2))
  // Not even root can replace a directory with a file.
  await mkdir(join(folder, 'log.1', 'in the way'), { recursive: true })
  for (const number of [3, 4]) log.write(line(number))
  expect(await read('log')).toBe([1, 2, 3, 4].map(line).join(''))
})

test('keeps writing to a renamed log when no new one can be created', async () => {
  const log = createLogFile(path, { maxBytes: 100, keptFiles: 1 })
  log.write(line(1))
  renameSync(path, `${path}.moved`)
  await mkdir(path)
  log.write(line(2))
  expect(await read('log.moved')).toBe([1, 2].map(line).join(''))
})

function line(number: number): Buffer {
  return Buffer.from(`${String(number).padStart(9)}\n`)
}

function read(name: string): Promise<string> {
  return Bun.file(join(folder, name)).text()
}

test('rotates the file that a link names, and nothing that is not a regular file', async () => {
  await mkdir(join(folder, 'disk'))
  const link = join(folder, 'link')
  symlinkSync('disk/log', link)
  const log = createLogFile(link, { maxBytes: 20, keptFiles: 1 })
  for (const number of [1, 2, 3]) log.write(line(number))
  expect((await readdir(join(folder, 'disk'))).toSorted()).toEqual(['log', 'log.1'])
  expect(lstatSync(link).isSymbolicLink()).toBe(true)

  const open = openSync(path, 'a')
  const stream = join(folder, 'stdout')
  symlinkSync(`/proc/self/fd/${open}`, stream)
  const output = createLogFile(stream, { maxBytes: 20, keptFiles: 1 })
  for (const number of [1, 2, 3]) output.write(line(number))
  closeSync(open)
  expect(await read('log')).toBe([1, 2, 3].map(line).join(''))
  expect((await readdir(folder)).toSorted()).toEqual(['disk', 'link', 'log', 'stdout'])
})

test('accepts standard streams and pipes, but refuses a pipe without a reader', async () => {
  const limits = { maxBytes: 20, keptFiles: 1 }
  const streams = ['/dev/stdout', '/dev/stderr', '/dev/fd/2', '/proc/self/fd/1']
  expect(streams.map((stream) => openLogTarget(stream, limits))).toEqual([1, 2, 2, 1])
  expect(openLogTarget('/dev/null', limits)).toBeNumber()
  expect(openLogTarget(path, limits)).toBeObject()
  await Bun.$`mkfifo ${path}.pipe`
  expect(() => openLogTarget(`${path}.pipe`, limits)).toThrow('ENXIO')
})
