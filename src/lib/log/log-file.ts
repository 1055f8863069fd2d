import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { tryTo } from '../errors.ts'

/** With O_NONBLOCK, a pipe without a reader causes an error instead of blocking the start. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
/** Not opened by path: a service manager may connect a standard stream to a socket, which cannot be opened. */
const STANDARD_STREAM = /^\/(?:dev\/(stdout|stderr)|(?:dev|proc\/self)\/fd\/([12]))$/

/** A log of `maxBytes` is rotated to `.1`; `keptFiles` older files remain. */
export type LogFileLimits = { maxBytes: number; keptFiles: number }

/** The target for `createLogOutput`; only a regular file is rotated and reopened. Throws the system's error. */
export function openLogTarget(path: string, limits: LogFileLimits) {
  const [, name, descriptor = name === 'stderr' ? 2 : 1] = STANDARD_STREAM.exec(path) ?? []
  if (STANDARD_STREAM.test(path)) return Number(descriptor)
  const file = createLogFile(path, limits)
  return statSync(path).isFile() ? file : file.descriptor
}

/** Appends, rotates a full file, and opens a new one when another program moved it. Throws the system's error. */
export function createLogFile(path: string, { maxBytes, keptFiles }: LogFileLimits) {
  let descriptor = open()
  return { write, reopen, descriptor }

  /** `bytes` are whole lines. */
  function write(bytes: Uint8Array) {
    const size = readSize(path, descriptor)
    if (size === null) reopen()
    else if (size > 0 && size + bytes.byteLength > maxBytes) rotate()
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
  }

  /** Keeps the old file open if no new one can be opened. */
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
      const file = withoutLinks(path)
      if (!lstatSync(file).isFile()) return
      rmSync(keptFiles === 0 ? file : `${file}.${keptFiles}`, { force: true })
      for (let number = keptFiles - 1; number >= 1; number--)
        renameIfExists(`${file}.${number}`, `${file}.${number + 1}`)
      if (keptFiles > 0) renameIfExists(file, `${file}.1`)
    } catch {
      // A log that is too large is better than none.
      return
    }
    reopen()
  }

  function open(): number {
    return openSync(path, FLAGS, 0o600)
  }
}

/** Follows symbolic links, except those to an open file of a process. */
function withoutLinks(path: string): string {
  const isLink = lstatSync(path).isSymbolicLink() && !/^\/(proc|dev(?!\/shm))\//.test(path)
  return isLink ? withoutLinks(resolve(dirname(path), readlinkSync(path))) : path
}

/** The size of the file at `path`; null when `descriptor` no longer refers to that file. */
function readSize(path: string, descriptor: number): number | null {
  const openFile = fstatSync(descriptor)
  const fileAtPath = tryTo(() => statSync(path))
  return fileAtPath?.ino === openFile.ino && fileAtPath.dev === openFile.dev ? openFile.size : null
}

function renameIfExists(from: string, to: string) {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
  }
}
