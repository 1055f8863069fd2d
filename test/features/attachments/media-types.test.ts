import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sniff } from '../../../src/features/attachments/upload/media-types.ts'

const MIB = 1024 * 1024
const UTF_16LE = 'text/plain; charset=utf-16le'
const UTF_16BE = 'text/plain; charset=utf-16be'
const WINDOWS_1252 = 'text/plain; charset=windows-1252'
/** "これはテストです。" in Shift-JIS. */
const JAPANESE = Buffer.from('82b182ea82cd83658358836782c582b78142', 'hex')

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
  ['a NUL at the end', `${'x'.repeat(MIB)}\0`, 'text/plain'],
  ['many NULs', `${'x\0'.repeat(MIB)}`, null],
  ['another control character', `${'x'.repeat(MIB)}\x01`, null],
  ['a form feed in the middle', `${'x'.repeat(MIB)}\x0c${'x'.repeat(MIB)}`, 'text/plain'],
  [
    'an incomplete last character',
    Buffer.concat([Buffer.alloc(MIB, 'x'), Buffer.of(0xc3)]),
    'text/plain',
  ],
  ['UTF-16', Buffer.from('\ufeffGrüße 🙂\r\n', 'utf16le'), UTF_16LE],
  ['big-endian UTF-16', Buffer.from('\ufeffGrüße\r\n', 'utf16le').swap16(), UTF_16BE],
  [
    'UTF-16 cut within a character',
    Buffer.from('\ufeffGrüße', 'utf16le').subarray(0, -1),
    UTF_16LE,
  ],
  ['Windows-1252', Buffer.from('Größe: 5 \x80, \x93déjà vu\x94\n', 'latin1'), WINDOWS_1252],
  ['French in Windows-1252', Buffer.from('événement élégant, numéro', 'latin1'), WINDOWS_1252],
  ['Shift-JIS', JAPANESE, 'text/plain; charset=shift_jis'],
  ['Shift-JIS cut within a character', JAPANESE.subarray(0, -1), 'text/plain; charset=shift_jis'],
  ['random bytes', Buffer.from(Array.from({ length: 256 }, (_, at) => (at * 37) % 256)), null],
  ['a PDF after a line feed', '\n%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF', 'application/pdf'],
  ['a PDF after 200 bytes', `${'x'.repeat(200)}%PDF-1.4\n1 0 obj\n<<>>\nendobj`, 'application/pdf'],
  ['a PDF after 2,000 bytes', `${'x'.repeat(2_000)}%PDF-1.4\n1 0 obj\n`, 'text/plain'],
  ['text about PDF', 'A PDF file begins with %PDF-1.4.', 'text/plain'],
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
