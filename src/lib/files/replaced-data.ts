import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../time/durations.ts'

/** Names in DATA_DIR of the data that a rollback to a snapshot or a restore has replaced. */
export const AFTER_MIGRATION = 'homeport.db.after-migration-'
export const BEFORE_RESTORE = 'before-restore-'

export const KEPT_MS = 30 * DAY_MS

/** Whether data was moved aside in the last 30 days: its files may be needed again if the operator returns to it. */
export async function hasReplacedData(dataDir: string, now: Date): Promise<boolean> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(AFTER_MIGRATION) && !name.startsWith(BEFORE_RESTORE)) continue
    // A move changes only this time.
    const { ctimeMs } = await stat(join(dataDir, name))
    if (now.getTime() - ctimeMs < KEPT_MS) return true
  }
  return false
}
