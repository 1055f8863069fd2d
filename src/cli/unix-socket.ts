import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { sha256 } from '../lib/crypto.ts'

/** The path of a unix socket has 107 bytes at most. */
const PATH_LIMIT = 107

/** Where a socket of the data directory is. That has a short name for as long as it is open. */
export function openSocketPath({ dataDir }: Config, name: string): { path: string } & Disposable {
  const path = join(dataDir, name)
  if (Buffer.byteLength(path) <= PATH_LIMIT) return { path, [Symbol.dispose]() {} }
  if (process.platform !== 'linux') {
    // macOS gives each user a temporary folder of their own.
    const short = join(tmpdir(), `${sha256(dataDir, 'hex').slice(0, 16)}-${name}`)
    return { path: short, [Symbol.dispose]() {} }
  }
  const folder = openSync(dataDir, 'r')
  return { path: `/proc/self/fd/${folder}/${name}`, [Symbol.dispose]: () => closeSync(folder) }
}

/** Whether a request over a socket failed because no process listens there: nothing has been sent. */
export function isNobodyThere(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return /^(ConnectionRefused|FailedToOpenSocket|ENOENT|ECONNREFUSED)$/.test(String(code))
}
