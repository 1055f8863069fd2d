import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeDurably } from '../../../src/lib/files/durable-file.ts'

test('leaves no partial file if a write fails, and names the file in the error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-durable-'))
  const path = join(folder, 'taken')
  await mkdir(join(path, 'by-a-folder'), { recursive: true })
  const error = await writeDurably(path, 'x').catch((caught) => caught)
  expect(error.path).toContain(path)
  expect(await readdir(folder)).toEqual(['taken'])
  await rm(folder, { recursive: true })
})
