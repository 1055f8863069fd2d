import { closeSync, fstatSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'

/** A log of `fullBytes` is rotated to `.1`; `kept` older files remain. */
export type LogFileLimits = { fullBytes: number; kept: number }

/**
 * Appends to the file at `path`, rotates it when it is full, and opens a new one when another program has moved it.
 * Throws the system's error when it cannot be opened.
 */
export function createLogFile(path: string, { fullBytes, kept }: LogFileLimits) {
  let descriptor = open()
  return { write, reopen }

  /** `bytes` are whole lines. */
  function write(bytes: Uint8Array) {
    const size = sizeAt(path, descriptor)
    if (size === null) reopen()
    else if (size > 0 && size + bytes.byteLength > fullBytes) rotate()
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
      rmSync(kept === 0 ? path : `${path}.${kept}`, { force: true })
      for (let number = kept - 1; number >= 1; number--)
        renameIfExists(`${path}.${number}`, `${path}.${number + 1}`)
      if (kept > 0) renameIfExists(path, `${path}.1`)
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

/** The size of the file at `path`; null when it is no longer that of `descriptor`. */
function sizeAt(path: string, descriptor: number): number | null {
  const own = fstatSync(descriptor)
  try {
    const { ino, dev } = statSync(path)
    return ino === own.ino && dev === own.dev ? own.size : null
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
