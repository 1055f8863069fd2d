import { closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'

/** A file is full at so many bytes; so many older ones are kept, as `.1` (the newest) and so on. */
const FULL_BYTES = 16 * 1024 * 1024
const KEPT = 5

/** Appends to the file at `path`, which moves aside when it is full. Throws what the system says when it cannot be opened. */
export function createLogFile(path: string, fullBytes = FULL_BYTES, kept = KEPT) {
  let descriptor = openSync(path, 'a', 0o600)
  let size = fstatSync(descriptor).size
  return { write }

  /** Writes whole lines. */
  function write(bytes: Uint8Array) {
    if (size > 0 && size + bytes.byteLength > fullBytes) rotate()
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    size += bytes.byteLength
  }

  function rotate() {
    closeSync(descriptor)
    rmSync(`${path}.${kept}`, { force: true })
    for (let number = kept - 1; number >= 1; number--)
      renameIfThere(`${path}.${number}`, `${path}.${number + 1}`)
    renameIfThere(path, `${path}.1`)
    descriptor = openSync(path, 'a', 0o600)
    size = 0
  }
}

function renameIfThere(from: string, to: string) {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
}
