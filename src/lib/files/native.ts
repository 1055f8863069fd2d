import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { sha256 } from '../crypto/hash.ts'

/** A native library embedded in the executable, compressed with zstd; `path` and `hash` are those of the unpacked file. */
type NativePart = { embedded: string; path: string; hash: string }

const ROOT = 0
const WORLD_WRITABLE = 0o002

let nativeDir = ''
let trusted = new Set<number>()

/**
 * Requires a mount that allows execution, and a directory of trusted users: anyone who can write to it chooses what we
 * run.
 */
export function setNativeDir(folder: string, dataOwner = ROOT) {
  nativeDir = folder
  trusted = new Set([process.getuid?.() ?? ROOT, ROOT, dataOwner])
}

/** Unpacks an addon and its libraries and loads the first. The loaders that `scripts/build.ts` generates call it. */
export function loadNative(parts: NativePart[]): unknown {
  const name = parts.map(({ hash }) => hash.slice(0, 16)).join('-')
  prepareFolder(nativeDir)
  for (const part of parts) unpack(part, join(name, part.path))
  const addon = { exports: {} }
  process.dlopen(addon, join(nativeDir, name, parts[0]?.path ?? ''))
  return addon.exports
}

/** `path` is relative to `nativeDir`. The linker also looks for other libraries in these directories. */
function unpack({ embedded, hash }: NativePart, path: string) {
  let folder = nativeDir
  for (const name of dirname(path).split(sep)) {
    folder = join(folder, name)
    prepareFolder(folder)
    if (statSync(folder).mode & WORLD_WRITABLE) {
      throw new Error(`${folder} is writable by every user: remove it`)
    }
  }
  const file = join(folder, basename(path))
  if (existsSync(file) && sha256(readFileSync(file), 'hex') === hash) return
  const temporary = `${file}.${process.pid}`
  // An interrupted process with the same id, as in a container, may have left a file that cannot be written to.
  rmSync(temporary, { force: true })
  writeFileSync(temporary, Bun.zstdDecompressSync(readFileSync(embedded)), { mode: 0o500 })
  renameSync(temporary, file)
}

function prepareFolder(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (trusted.has(statSync(folder).uid)) return
  throw new Error(`${folder} belongs to another user: set NATIVE_DIR to a directory of your own`)
}
