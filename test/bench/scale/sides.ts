import { Database } from 'bun:sqlite'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { importJWK, SignJWT } from 'jose'
import { childrenOf, startHomeport } from '../servers.ts'
import type { Size } from './large-data.ts'
import { SESSION_GENERATION, sessionIdOf, userIdOf } from './large-users.ts'

/** A data directory to measure, and its server's port. */
export type Side = { dataDir: string; size: Size; port: number }

export type Sides = { large: Side; empty: Side }

/** Every second user may be deleted; other cases do not use them. */
const DELETABLE_OFFSET = 1

/** A user who has not been deleted. */
export function randomUser({ users }: Size): number {
  return Math.floor((Math.random() * users) / 2) * 2
}

/** Up to `count` users who may be deleted and still exist. */
export function findDeletable(side: Side, count: number): number[] {
  using db = new Database(databaseOf(side), { readonly: true })
  const find = db.query('SELECT 1 FROM users WHERE id = ?')
  const found = new Set<number>()
  for (let attempt = 0; attempt < count * 20 && found.size < count; attempt++) {
    const at = randomUser(side.size) + DELETABLE_OFFSET
    if (find.get(userIdOf(at))) found.add(at)
  }
  return [...found]
}

/** Resets the sessions that earlier runs refreshed, because their refresh tokens are no longer known. */
export function renewSessions(side: Side) {
  using db = new Database(databaseOf(side))
  db.run('DELETE FROM refresh_tokens WHERE generation > ?', [SESSION_GENERATION])
  db.run('UPDATE sessions SET generation = ?1, repeated_generation = NULL WHERE generation > ?1', [
    SESSION_GENERATION,
  ])
}

/** Starts the executable and waits until it has checked the database file. */
export async function startSide({ dataDir, port }: Side) {
  const server = await startHomeport(dataDir, port, { LOG_LEVEL: 'error' })
  const startedAt = performance.now()
  while ((await childrenOf(server.pid)).length > 0) await Bun.sleep(20)
  const checkedAfter = performance.now() - startedAt + server.readyAfter
  return { ...server, checkedAfter, [Symbol.asyncDispose]: server.stop }
}

/** Returns a function that creates a user's access token, new each time so that none is cached. */
export async function createTokenFactory({
  dataDir,
}: Side): Promise<(at: number) => Promise<string>> {
  const jwk = await Bun.file(join(dataDir, 'secrets', 'access-token.jwk')).json()
  const key = await importJWK(jwk, 'ES256')
  return (at) =>
    new SignJWT({ sid: sessionIdOf(at) })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: jwk.kid })
      .setIssuer('homeport')
      .setAudience('homeport')
      .setSubject(userIdOf(at))
      .setIssuedAt()
      .setExpirationTime('15m')
      .setJti(`${SESSION_GENERATION}.${randomUUID()}`)
      .sign(key)
}

/** Reads all data, to fill the page cache as far as memory allows. */
export async function readIntoCache({ dataDir }: Side) {
  const read = ['find', dataDir, '-type', 'f', '-exec', 'cat', '{}', '+']
  await Bun.spawn(read, { stdout: 'ignore' }).exited
}

/** Drops the database from the page cache (Linux). */
export async function dropFromCache(side: Side) {
  await Bun.spawn(['dd', `if=${databaseOf(side)}`, 'iflag=nocache', 'count=0'], {
    stderr: 'ignore',
  }).exited
}

/** The share of the database that is in the page cache. */
export async function cachedShare(side: Side): Promise<string> {
  const { stdout } = Bun.spawn(['fincore', '-nbo', 'RES', databaseOf(side)])
  return `${((Number(await stdout.text()) / Bun.file(databaseOf(side)).size) * 100).toFixed(0)} %`
}

function databaseOf({ dataDir }: Side): string {
  return join(dataDir, 'homeport.db')
}
