import { open, stat } from 'node:fs/promises'
import { createTarDecoder, createTarPacker } from 'modern-tar'
import { CommandError } from '../../lib/command.ts'
import { equalInConstantTime, sha256 } from '../../lib/crypto/hash.ts'
import type { InstallationKey } from '../data/installation-keys.ts'

export type ArchiveInfo = {
  /** Format 1 was not signed. */
  format: 1 | 2
  version: string
  schemaVersion: number
  createdAt: string
  /** The ids of the keys that signed it. */
  signedBy?: string[]
}

export type Source = { name: string; path: string }
type ArchivedFile = { name: string; size: number; content: AsyncIterable<Uint8Array> }

/** The archive cannot be used; the message says why. */
export class ArchiveError extends CommandError {
  override readonly name = 'ArchiveError'
}

const INFO = 'backup.json'
/** In the format of `sha256sum --check`. */
const SUMS = 'SHA256SUMS'
/** One line per key: its id and its HMAC-SHA256 of the other two texts. */
const SIGNATURES = 'SIGNATURES'
/** The texts that we write are far smaller. */
const MAX_TEXT_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024
const CHECKSUM_BYTES = Bun.CryptoHasher.hash('sha256', '', 'hex').length

/**
 * Creates a tar archive: `about`, the files, their SHA-256 sums, the signatures of `keys`, and a SHA-256 of the whole.
 * A file is read when the archive's reader gets to it; a file that has shrunk causes an error.
 */
export function packArchive(
  about: Omit<ArchiveInfo, 'format' | 'signedBy'>,
  sources: Source[],
  keys: InstallationKey[],
  onBytes: (bytes: number) => void,
): ReadableStream<Uint8Array> {
  const { readable, controller } = createTarPacker()
  packAll().catch((error) => controller.error(error))
  return readable.pipeThrough(appendChecksum())

  async function packAll() {
    const sums: string[] = []
    const info: ArchiveInfo = { format: 2, ...about, signedBy: keys.map(({ id }) => id) }
    const infoText = JSON.stringify(info, null, 2)
    await packText(INFO, infoText)
    for (const { name, path } of sources) sums.push(`${await packFile(name, path)}  ${name}\n`)
    const sumsText = sums.join('')
    await packText(SUMS, sumsText)
    const signed = signedText(infoText, sha256(sumsText, 'hex'))
    await packText(SIGNATURES, keys.map(({ id, sign }) => `${id} ${sign(signed)}\n`).join(''))
    controller.finalize()
  }

  async function packText(name: string, text: string) {
    const bytes = new TextEncoder().encode(text)
    const writer = controller.add(buildHeader(name, bytes.byteLength)).getWriter()
    await writer.write(bytes)
    await writer.close()
  }

  async function packFile(name: string, path: string): Promise<string> {
    const { size, mtime } = await stat(path)
    const writer = controller.add({ ...buildHeader(name, size), mtime }).getWriter()
    const hasher = new Bun.CryptoHasher('sha256')
    for await (const chunk of readChunks(path, size)) {
      hasher.update(chunk)
      await writer.write(chunk)
      onBytes(chunk.byteLength)
    }
    await writer.close()
    return hasher.digest('hex')
  }
}

/**
 * Reads a whole archive. `onInfo` may throw; `isSignedByUs`: the archive claims a signature by one of `keys`. `onFile`
 * must read its whole file. Throws `ArchiveError` if any byte was changed; then discard the files passed so far.
 */
export async function unpackArchive(
  archive: ReadableStream<Uint8Array>,
  keys: InstallationKey[],
  onInfo: (info: ArchiveInfo, isSignedByUs: boolean) => void,
  onFile: (file: ArchivedFile) => Promise<void>,
): Promise<ArchiveInfo> {
  const sums = new Bun.CryptoHasher('sha256')
  let sumsBytes = 0
  let infoText = ''
  let info: ArchiveInfo | null = null
  let key: InstallationKey | null = null
  let sumsHash: string | null = null
  let signatures = ''
  let head = ''
  const rememberHead = (bytes: Uint8Array) => {
    head ||= Buffer.from(bytes.subarray(0, INFO.length)).toString('latin1')
  }
  try {
    const entries = archive
      .pipeThrough(removeChecksum(rememberHead))
      .pipeThrough(createTarDecoder({ strict: true }))
    for await (const { header, body } of entries) {
      const { name, size, type } = header
      if (info === null) {
        if (name !== INFO) throw notABackup()
        infoText = await readText(body, size)
        info = readInfo(infoText)
        const { signedBy = [] } = info
        key = keys.find(({ id }) => signedBy.includes(id)) ?? null
        onInfo(info, key !== null)
      } else if (name === SUMS) {
        // Never read more than we counted, whatever the archive claims.
        if (sumsHash !== null || size !== sumsBytes) throw damaged()
        const hasher = new Bun.CryptoHasher('sha256')
        for await (const chunk of body) hasher.update(chunk)
        sumsHash = hasher.digest('hex')
      } else if (name === SIGNATURES && sumsHash !== null) signatures = await readText(body, size)
      else if (sumsHash !== null || type !== 'file') throw damaged()
      else {
        const hasher = new Bun.CryptoHasher('sha256')
        await onFile({ name, size, content: hashChunks(body, hasher) })
        const line = Buffer.from(`${hasher.digest('hex')}  ${name}\n`)
        sums.update(line)
        sumsBytes += line.byteLength
      }
    }
  } catch (error) {
    if (isSystemError(error)) throw error
    if (info === null && !INFO.startsWith(head)) throw notABackup(error)
    if (error instanceof ArchiveError) throw error
    throw damaged(error)
  }
  if (info === null) throw notABackup()
  const found = sums.digest('hex')
  if (found !== sumsHash) throw damaged()
  const signature = key && `${key.id} ${key.sign(signedText(infoText, found))}`
  if (signature && !signatures.split('\n').some((line) => equalInConstantTime(line, signature)))
    throw new ArchiveError('The backup was changed after it was written: use another one.')
  return info
}

/** The signed text: its two hashes cover everything that is read from an archive. */
function signedText(infoText: string, sumsHash: string): string {
  return `${sha256(infoText, 'hex')} ${sumsHash}`
}

/** Makes text from an untrusted archive safe to print on a terminal. */
export function printable(text: string): string {
  return text.slice(0, 100).replaceAll(/[^\x20-\x7e]/g, '?')
}

function readInfo(text: string): ArchiveInfo {
  const info = JSON.parse(text) as ArchiveInfo & { format?: unknown }
  if (info.format === 1 || info.format === 2) {
    const { version, createdAt } = info
    return { ...info, version: printable(version), createdAt: printable(createdAt) }
  }
  if (typeof info.format !== 'number') throw notABackup()
  throw new ArchiveError('The backup was written by a newer homeport: use that version.')
}

async function readText(body: ReadableStream<Uint8Array>, size: number): Promise<string> {
  if (size > MAX_TEXT_BYTES) throw damaged()
  return new Response(body).text()
}

function appendChecksum() {
  const hasher = new Bun.CryptoHasher('sha256')
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      hasher.update(chunk)
      controller.enqueue(chunk)
    },
    flush(controller) {
      controller.enqueue(new TextEncoder().encode(hasher.digest('hex')))
    },
  })
}

/** Removes the checksum. Throws at the end when it does not match the preceding bytes. */
function removeChecksum(onBytes: (bytes: Uint8Array) => void) {
  const hasher = new Bun.CryptoHasher('sha256')
  let kept = Buffer.alloc(0)
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onBytes(chunk)
      const all = Buffer.concat([kept, chunk])
      const end = Math.max(0, all.byteLength - CHECKSUM_BYTES)
      kept = all.subarray(end)
      if (end === 0) return
      hasher.update(all.subarray(0, end))
      controller.enqueue(all.subarray(0, end))
    },
    flush() {
      if (kept.toString('latin1') !== hasher.digest('hex')) throw damaged()
    },
  })
}

async function* readChunks(path: string, size: number): AsyncGenerator<Uint8Array> {
  await using file = await open(path, 'r')
  for (let position = 0; position < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - position))
    const { bytesRead } = await file.read(chunk, 0, chunk.byteLength, position)
    if (bytesRead === 0) throw new Error(`${path} shrank while it was being read`)
    position += bytesRead
    yield chunk.subarray(0, bytesRead)
  }
}

async function* hashChunks(body: ReadableStream<Uint8Array>, hasher: Bun.CryptoHasher) {
  for await (const chunk of body) {
    hasher.update(chunk)
    yield chunk
  }
}

function buildHeader(name: string, size: number) {
  return { name, size, mode: 0o600, type: 'file' as const }
}

function notABackup(cause?: unknown): ArchiveError {
  return new ArchiveError(
    'This is not a homeport backup: choose a file that "homeport backup" wrote.',
    { cause },
  )
}

function damaged(cause?: unknown): ArchiveError {
  return new ArchiveError('The backup is damaged or incomplete: use another one.', { cause })
}

/** EEXIST is not a disk fault: in an empty folder it means that the archive contains a file twice. */
function isSystemError(error: unknown): boolean {
  return /^E(?!EXIST$)[A-Z]+$/.test(String((error as { code?: unknown }).code))
}
