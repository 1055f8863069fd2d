import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sniff } from '../../../src/features/attachments/upload/media-types.ts'

const MIB = 1024 * 1024

test('checks a large text file in slices, and yields to other work in between', async () => {
  const content = Buffer.alloc(64 * MIB, 'Grüße\n')
  let turns = 0
  let isOver = false
  const watch = () => {
    turns++
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  expect(await mediaTypeOf(content)).toBe('text/plain')
  isOver = true
  expect(turns).toBeGreaterThanOrEqual(32)
})

test.each([
  ['plain text', 'line one\r\n\tline two \u001b[31mred', 'text/plain'],
  ['text after a byte order mark', '\ufeffhello', 'text/plain'],
  ['a JSON object', ' {"a": 1}', 'application/json'],
  ['a JSON array after a byte order mark', '\ufeff[1]', 'application/json'],
  ['a number', '1', 'text/plain'],
  ['broken JSON', '{"a": ', 'text/plain'],
  ['JSON of 300 KiB', JSON.stringify(['x'.repeat(300 * 1024)]), 'text/plain'],
  ['a control character at the end', `${'x'.repeat(MIB)}\0`, null],
  ['a form feed in the middle', `${'x'.repeat(MIB)}\x0c${'x'.repeat(MIB)}`, null],
  ['an incomplete last character', Buffer.concat([Buffer.alloc(MIB, 'x'), Buffer.of(0xc3)]), null],
  ['a byte that is not UTF-8', Buffer.concat([Buffer.from('x'), Buffer.of(0xff)]), null],
  ['text that begins like a GIF', 'GIF does not work', 'text/plain'],
  ['XML', '<?xml version="1.0"?><a/>', 'text/plain'],
  ['a GIF', Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64'), null],
  ['an empty file', '', null],
])('detects the media type of %s from its bytes', async (_what, content, mediaType) => {
  expect(await mediaTypeOf(Buffer.from(content))).toBe(mediaType)
})

test('reads characters that span two slices correctly', async () => {
  for (let shift = 0; shift < 4; shift++) {
    const text = 'x'.repeat(shift) + '🙂'.repeat(MIB / 4)
    expect(await mediaTypeOf(Buffer.from(text))).toBe('text/plain')
  }
})

async function mediaTypeOf(content: Buffer): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-kinds-'))
  const path = join(folder, 'file')
  try {
    await Bun.write(path, content)
    const head = content.subarray(0, 4_100)
    return await sniff({ path, size: content.length, head, hash: '' })
  } finally {
    await rm(folder, { recursive: true })
  }
}
