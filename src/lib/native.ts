import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256 } from './crypto.ts'

/** A native library inside the executable: where it lies there, and under which path it must be unpacked. */
type NativePart = { embedded: string; path: string; hash: string }

let nativeDir = ''

/** Says where native libraries may be unpacked: a folder on a mount that allows execution. */
export function setNativeDir(folder: string) {
  nativeDir = folder
}

/**
 * Unpacks an addon and its libraries with their relative layout and loads the first of them. A file whose
 * hash is not the embedded one is replaced. Called by the loaders that `build.ts` puts in the addons' places.
 */
export function loadNative(parts: NativePart[]): unknown {
  const folder = join(nativeDir, parts.map(({ hash }) => hash.slice(0, 16)).join('-'))
  for (const part of parts) unpack(part, join(folder, part.path))
  const addon = { exports: {} }
  process.dlopen(addon, join(folder, parts[0]?.path ?? ''))
  return addon.exports
}

function unpack({ embedded, hash }: NativePart, path: string) {
  if (existsSync(path) && sha256(readFileSync(path), 'hex') === hash) return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, readFileSync(embedded), { mode: 0o500 })
  renameSync(temporary, path)
}
