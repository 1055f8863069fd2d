import { closeSync, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'

/** A log of `maxBytes` is rotated to `.1`; `keptFiles` older files remain. */
export type LogFileLimits = { maxBytes: number; keptFiles: number }

/**
 * Appends to the file at `path`, rotates it when it is full, and opens a new one when another program has moved it.
 * Throws the system's error when it cannot be opened.
 */
export function createLogFile(path: string, { maxBytes, keptFiles }: LogFileLimits) {
  let descriptor = open()
  return { write, reopen }

  /** `bytes` are whole lines. */
  function write(bytes: Uint8Array) {
    const size = sizeAt(path, descriptor)
    if (size === null) reopen()
    else if (size > 0 && size + bytes.byteLength > maxBytes) rotate()
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  }

  /** Continues in the file at `path`, or a new one; in the old one when neither can be opened. */
  function reopen() {
    const before = descriptor
    try {
      descriptor = open()
    } catch {
      return
    }
    closeSync(before)
  }

  function rotate() {
    try {
      rmSync(keptFiles === 0 ? path : `${path}.${keptFiles}`, { force: true })
      for (let number = keptFiles - 1; number >= 1; number--)
        renameIfExists(`${path}.${number}`, `${path}.${number + 1}`)
      if (keptFiles > 0) renameIfExists(path, `${path}.1`)
    } catch {
      // A log that is too large is better than none.
      return
    }
    reopen()
  }

  function open(): number {
    return openSync(path, 'a', 0o600)
  }
}

/** The size of the file at `path`; null when `descriptor` no longer refers to that file. */
function sizeAt(path: string, descriptor: number): number | null {
  const openFile = fstatSync(descriptor)
  try {
    const { ino, dev } = statSync(path)
    return ino === openFile.ino && dev === openFile.dev ? openFile.size : null
  } catch {
    return null
  }
}

function renameIfExists(from: string, to: string) {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
}
