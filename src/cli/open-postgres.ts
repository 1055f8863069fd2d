import { createHash } from 'node:crypto'
import type { Config } from '../config.ts'
import { readMigrations } from '../db/migrations.ts'
import { postgresColumns } from '../db/postgres/columns.ts'
import { isConnectionLost, isUntrusted, sqlState } from '../db/postgres/errors.ts'
import { appliedIn, DatabaseRefusal, migrate } from '../db/postgres/migrate.ts'
import { createPostgresDb, openPools, withoutPassword } from '../db/postgres/open.ts'
import { createSharedSecrets } from '../db/postgres/shared-secrets.ts'
import { buildTables } from '../features.ts'
import { DataError } from './data-error.ts'
import type { Engine } from './engine.ts'

/** Connects to the server of `DATABASE_URL`, and makes or migrates what is in its database. */
export async function openPostgres(config: Config): Promise<Engine> {
  const url = config.databaseUrl ?? ''
  const connections = config.databasePool
  const pools = openPools(url, connections)
  try {
    const migrated = await migrate(pools.changes, readMigrations('postgres'))
    const db = createPostgresDb(pools, { url, connections }, buildTables(postgresColumns))
    if (await db.isCopyUnfinished()) {
      throw new DataError(`The copy into ${db.place} is unfinished: run "homeport db copy" again.`)
    }
    const secrets = createSharedSecrets(pools.changes, sealKeyOf(config))
    return {
      db,
      migrated,
      replaced: [],
      keep: secrets.keep,
      async [Symbol.asyncDispose]() {
        secrets.stop()
        await db.stopWriting('closing')
        await db.close()
      },
    }
  } catch (error) {
    await Promise.allSettled([pools.reads.close(), pools.changes.close()])
    throw asPostgresError(error, url)
  }
}

/** What seals the secrets in the database. */
export function sealKeyOf({ secretKey }: Config): Uint8Array {
  return createHash('sha256')
    .update(secretKey ?? '')
    .digest()
}

/** How many of the program's migrations the database has had, and all of them. */
export async function postgresStatus(
  config: Config,
): Promise<{ applied: number; known: string[] }> {
  const url = config.databaseUrl ?? ''
  const { reads } = openPools(url, config.databasePool)
  try {
    const applied = await appliedIn({ run: reads.read })
    return { applied, known: readMigrations('postgres').map(({ tag }) => tag) }
  } catch (error) {
    throw asPostgresError(error, url)
  } finally {
    await reads.close()
  }
}

/** Why the server cannot be used, in a sentence. */
export function asPostgresError(error: unknown, url: string): unknown {
  const place = withoutPassword(url)
  const { message } = error as Error
  if (error instanceof DataError) return error
  if (error instanceof DatabaseRefusal) return new DataError(message)
  const state = sqlState(error)
  if (state !== null && /^(28|3D|42501)/.test(state))
    return new DataError(`${place} refuses the connection: ${message}. Check DATABASE_URL.`)
  if (isUntrusted(error))
    return new DataError(
      `The certificate of ${place} is not trusted (${message}): name its authority's file in NODE_EXTRA_CA_CERTS, or take another sslmode.`,
    )
  if (isConnectionLost(error))
    return new DataError(
      `${place} cannot be reached (${message}): check DATABASE_URL and its server.`,
    )
  return error
}
