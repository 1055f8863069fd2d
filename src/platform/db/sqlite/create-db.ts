import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import type { OpenDb } from '../db.ts'
import { createCheckpoints } from './background/checkpoints.ts'
import { createPlacement } from './background/placement.ts'
import { createBackgroundReader } from './background/reader.ts'
import { createCached } from './cached.ts'
import { compilingDrizzle } from './compiling-drizzle.ts'
import { copyDatabase, openReader, rewriteVersion, selectRows } from './open.ts'
import { createTurnSnapshot } from './turn-snapshot.ts'
import { createWriter } from './write.ts'

type SqliteDb<Tables> = OpenDb<Tables> & { client: Database }

/** A last resort: normally another process copies the log earlier (see `checkpoints.ts`). */
const CHECKPOINT_PAGES = 64_000
/** During a copy, no request waits for a commit. */
const COPY_CHECKPOINT_PAGES = 4_000

/** `checkpointCommand`: the process that copies the log, without the path; null when Litestream does so. */
export function createDb<Tables>(
  client: Database,
  tables: Tables,
  checkpointCommand: string[] | null,
): SqliteDb<Tables> {
  client.run(`PRAGMA wal_autocheckpoint = ${checkpointCommand === null ? 0 : CHECKPOINT_PAGES}`)
  const reader = openReader(client.filename)
  const snapshot = createTurnSnapshot(reader)
  let background: ReturnType<typeof createBackgroundReader> | null = null
  const read = compilingDrizzle(reader, {
    beforeSelect: snapshot.open,
    readOnce: async (sql, params) =>
      (await background?.read(sql, params)) ?? selectRows(reader, sql, params),
  })
  const { promise: diskFailure, resolve: reportDiskFailure } = Promise.withResolvers<'disk'>()
  let hasSyncFailed = false
  const onSyncFailure = () => {
    hasSyncFailed = true
    client.run('PRAGMA wal_autocheckpoint = 0')
    reportDiskFailure('disk')
  }
  const checkpoints =
    checkpointCommand &&
    createCheckpoints({ path: client.filename, command: checkpointCommand, onSyncFailure })
  const onCommit = () => {
    snapshot.close()
    checkpoints?.afterCommit()
  }
  const placement = createPlacement(client.filename)
  const writer = createWriter(client, onCommit, onSyncFailure, placement.check)
  return {
    tables,
    read,
    write: writer.write,
    pauseBatches: checkpoints?.pauseBatches ?? (() => Bun.sleep(1)),
    prepareWrite: writer.prepareWrite,
    async countAppended(table) {
      const [row] = await read.select({ last: sql<number | null>`max(rowid)` }).from(table)
      return row?.last ?? 0
    },
    cached: (_name, load) => createCached(read, load),
    place: client.filename,
    identify: async () => `${await readMachineId()}:${client.filename}`,
    size: async () => readSize(client.filename) + readSize(`${client.filename}-wal`),
    isShared: false,
    clockSkew: async () => null,
    claimJob: async () => true,
    writeStats: writer.stats,
    client,
    diskFailure,
    describeMisplaced: placement.check,
    probe: () => writer.write(async () => rewriteVersion(client)),
    readInBackground(onError) {
      background = createBackgroundReader(client.filename, onError)
    },
    dropCaches() {
      background?.stop()
      for (const connection of [client, reader]) connection.run('PRAGMA shrink_memory')
    },
    emptyLog: async () => checkpoints?.emptyLog(),
    async stopWriting(reason) {
      await writer.stop(reason)
      await checkpoints?.stop()
    },
    close() {
      background?.stop()
      snapshot.close()
      reader.close()
      // Closing would empty the log, from which the next process can restore what the disk has lost.
      if (hasSyncFailed) return
      const copyPath = placement.makeCopyPath()
      if (copyPath !== null) copyDatabase(client, copyPath)
      try {
        if (checkpoints) client.run('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch {
        // On a full or read-only disk the log stays, and the next start reads it.
      }
      client.close()
    },
  }
}

/** Lets SQLite empty the log during commits. */
export function keepLogShort(client: Database) {
  client.run(`PRAGMA wal_autocheckpoint = ${COPY_CHECKPOINT_PAGES}`)
}

/** Empty in most containers: their host names change at each start. */
function readMachineId(): Promise<string> {
  return readFile('/etc/machine-id', 'utf8').then(
    (id) => id.trim(),
    () => '',
  )
}

function readSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
