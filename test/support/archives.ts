import { expect } from 'bun:test'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { packTar, unpackTar } from 'modern-tar'
import type { installExecutable } from './executable.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>
type Entries = Map<string, Uint8Array<ArrayBuffer>>

/** Writes a backup of a new, almost empty database without a server, and returns its path. */
export async function makeBackup(
  { run, folder }: Homeport,
  environment: Record<string, string> = {},
): Promise<string> {
  await run(['init'])
  const { stdout, stderr } = await run(['backup', '--json'], environment)
  if (stderr !== '') throw new Error(stderr)
  const { path } = JSON.parse(stdout) as { path: string }
  expect(path).toStartWith(join(folder, 'data', 'backups'))
  return path
}

/** Changes an archive as an attacker who knows its format would: all checksums match the new contents. */
export async function repack(from: string, to: string, change: (entries: Entries) => void) {
  // The tar is followed by a checksum of 64 characters.
  const sealed = await Bun.file(from).bytes()
  const read = await unpackTar(sealed.subarray(0, -64))
  const entries: Entries = new Map(
    read.map(({ header, data }) => [header.name, new Uint8Array(data ?? [])]),
  )
  change(entries)
  const texts = ['backup.json', 'SHA256SUMS', 'SIGNATURES']
  const sums = [...entries]
    .filter(([name]) => !texts.includes(name))
    .map(([name, content]) => `${sha256(content)}  ${name}\n`)
  const signatures = entries.get('SIGNATURES')
  for (const name of texts.slice(1)) entries.delete(name)
  entries.set('SHA256SUMS', bytesOf(sums.join('')))
  if (signatures) entries.set('SIGNATURES', signatures)
  const tar = await packTar(
    [...entries].map(([name, body]) => ({ header: { name, size: body.byteLength }, body })),
  )
  await Bun.write(to, Buffer.concat([tar, Buffer.from(sha256(tar))]))
}

/** Writes an archive in the format of versions that did not sign backups. */
export async function makeUnsigned(from: string, to: string) {
  await repack(from, to, (entries) => {
    changeInfo(entries, ({ signedBy: _, ...info }) => ({ ...info, format: 1 }))
    entries.delete('SIGNATURES')
  })
}

export function changeInfo(
  entries: Entries,
  change: (info: Record<string, unknown>) => Record<string, unknown>,
) {
  const text = new TextDecoder().decode(entries.get('backup.json'))
  entries.set('backup.json', bytesOf(JSON.stringify(change(JSON.parse(text)))))
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
