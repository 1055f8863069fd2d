import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { sha256 } from './crypto.ts'

/** A native library inside the executable: where it lies there, and under which path it must be unpacked. */
type NativePart = { embedded: string; path: string; hash: string }

const ROOT = 0
const ALL_MAY_WRITE = 0o002

let nativeDir = ''
let trusted = new Set<number>()

/**
 * Says where native libraries may be unpacked: a folder on a mount that allows execution. Whoever may write
 * there chooses what we run, so that only our own user, root and the owner of the data are trusted with it.
 */
export function setNativeDir(folder: string, dataOwner = ROOT) {
  nativeDir = folder
  trusted = new Set([process.getuid?.() ?? ROOT, ROOT, dataOwner])
}

/**
 * Unpacks an addon and its libraries with their relative layout and loads the first of them. A file whose
 * hash is not the embedded one is replaced. Called by the loaders that `scripts/build.ts` puts in the addons' places.
 */
export function loadNative(parts: NativePart[]): unknown {
  const name = parts.map(({ hash }) => hash.slice(0, 16)).join('-')
  prepareFolder(nativeDir)
  for (const part of parts) unpack(part, join(name, part.path))
  const addon = { exports: {} }
  process.dlopen(addon, join(nativeDir, name, parts[0]?.path ?? ''))
  return addon.exports
}

/** `path` is within `nativeDir`. The linker looks for every library in these folders, not only for ours. */
function unpack({ embedded, hash }: NativePart, path: string) {
  let folder = nativeDir
  for (const name of dirname(path).split(sep)) {
    folder = join(folder, name)
    prepareFolder(folder)
    if (statSync(folder).mode & ALL_MAY_WRITE) {
      throw new Error(`every user may write to ${folder}: remove it`)
    }
  }
  const file = join(folder, basename(path))
  if (existsSync(file) && sha256(readFileSync(file), 'hex') === hash) return
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, readFileSync(embedded), { mode: 0o500 })
  renameSync(temporary, file)
}

/** Makes a folder, or throws where somebody else has made it. */
function prepareFolder(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (trusted.has(statSync(folder).uid)) return
  throw new Error(`${folder} belongs to another user: set NATIVE_DIR to a folder of your own`)
}
