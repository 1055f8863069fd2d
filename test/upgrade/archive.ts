import { readdirSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { packTar, unpackTar } from 'modern-tar'

/** The responses from an earlier version about the data in its archive. */
export type Record = {
  commit: string
  schemaVersion: number
  /** The time of the responses, in ISO 8601; tests set their clock by it. */
  at: string
  sessions: { user: string; accessToken: string; refreshToken: string }[]
  /** A user with two-factor authentication. */
  twoFactor: { email: string; secret: string } | null
  apiKey: string | null
  /** `as` is a user of `sessions`, `key` for the API key, or null for a public request. */
  answers: { path: string; as: string | null; response: unknown }[]
  commands: { name: string; outcome: unknown }[]
  /** Files by URL without the origin, with the SHA-256 of their bytes. */
  files: { path: string; sha256: string }[]
}

const ARCHIVES = join(import.meta.dir, 'data')
const SUFFIX = '.tar.zst'
const RECORD = 'record.json'
/** Files that the server creates again when it starts. */
const DISPOSABLE = /^(native|backups|logs|tmp)\/|\.(sock|lock|log)$|-shm$/

/** The names of all archives: the schema version, with a suffix if a version has several. */
export const archives = readdirSync(ARCHIVES)
  .filter((name) => name.endsWith(SUFFIX))
  .map((name) => name.slice(0, -SUFFIX.length))
  .toSorted()

export async function pack(name: string, dataDir: string, record: Record): Promise<number> {
  const entries = [{ name: RECORD, body: Buffer.from(JSON.stringify(record)) }]
  for (const entry of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const file = relative(dataDir, path)
    if (!entry.isFile() || DISPOSABLE.test(file)) continue
    entries.push({ name: `data/${file}`, body: Buffer.from(await Bun.file(path).bytes()) })
  }
  const tar = await packTar(
    entries
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, body }) => ({ header: { name, size: body.length }, body })),
  )
  return Bun.write(join(ARCHIVES, name + SUFFIX), Bun.zstdCompressSync(tar, { level: 19 }))
}

/** Unpacks the data directory of an archive into `dataDir`. */
export async function unpack(name: string, dataDir: string): Promise<Record> {
  const compressed = await Bun.file(join(ARCHIVES, name + SUFFIX)).bytes()
  const entries = await unpackTar(Bun.zstdDecompressSync(compressed))
  let record: Record | null = null
  for (const { header, data = new Uint8Array() } of entries) {
    if (header.name === RECORD) record = JSON.parse(new TextDecoder().decode(data))
    else {
      const path = join(dataDir, relative('data', header.name))
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(path, data, { mode: 0o600 })
    }
  }
  if (record === null) throw new Error(`${name} has no ${RECORD}`)
  return record
}
