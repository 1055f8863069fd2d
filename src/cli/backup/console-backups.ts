import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Config } from '../../config.ts'
import { AppError } from '../../lib/errors.ts'
import type { Backups } from '../../usecases/admin/backups.ts'
import { programCommand } from '../self-command.ts'
import { backupDirOf, listBackups } from './backups.ts'

/** How often somebody who waits is told how far it is, in ms. */
const LOOK_EVERY = 300

/** Backups for the console, each written and read by a process of its own. */
export function createConsoleBackups(config: Config): Backups {
  const { dataDir, backupSchedule, backupKey } = config
  const folder = backupDirOf(config)
  /** Those that were read again since the start; every backup is when it is written. */
  const verified = new Map<string, Date>()
  return { list, make, verify, open }

  async function list() {
    const backups = (await listBackups(folder)).map(({ path, bytes, at }) => {
      const name = basename(path)
      return { name, bytes, at, verifiedAt: verified.get(name) ?? at }
    })
    const next = backupSchedule === null ? null : Bun.cron.parse(backupSchedule)
    return { backups, next, isEncrypted: backupKey !== null }
  }

  async function make(tell: (bytes: number) => void, signal: AbortSignal) {
    const looking = setInterval(() => void tellSize(tell), LOOK_EVERY)
    try {
      const out = await run(['backup', '--json', '--data-dir', dataDir], signal)
      return { name: basename((JSON.parse(out) as { path: string }).path) }
    } finally {
      clearInterval(looking)
    }
  }

  async function verify(name: string, signal: AbortSignal) {
    const file = await pathOf(name)
    if (file === null) throw new AppError('not_found', `There is no backup ${name}.`)
    await run(['restore', file, '--verify', '--json', '--data-dir', dataDir], signal)
    verified.set(name, new Date())
  }

  async function open(name: string) {
    const path = await pathOf(name)
    return path === null ? null : Bun.file(path)
  }

  /** Names come from a browser: only those that are listed lead to a file. */
  async function pathOf(name: string): Promise<string | null> {
    const found = (await listBackups(folder)).find(({ path }) => basename(path) === name)
    return found?.path ?? null
  }

  async function tellSize(tell: (bytes: number) => void) {
    const names = await readdir(folder).catch(() => [])
    const partial = names.find((name) => name.endsWith('.partial'))
    const found = partial && (await stat(join(folder, partial)).catch(() => null))
    if (found) tell(found.size)
  }

  async function run(args: string[], signal: AbortSignal): Promise<string> {
    const [command = '', ...rest] = args
    const child = Bun.spawn(programCommand(command, ...rest), {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      signal,
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    if ((await child.exited) === 0) return out
    throw new AppError('conflict', err.trim() || `The ${command} did not end well.`)
  }
}
