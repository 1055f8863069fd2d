import { and, eq, isNull, sql } from 'drizzle-orm'
import type { UsersDb } from '../schema.ts'

/** Prepared because every refresh runs them. */
export function prepareTokenStatements(db: UsersDb) {
  const { refreshTokens } = db.tables
  const insertToken = db.prepareWrite((tx) =>
    tx.insert(refreshTokens).values({
      hash: sql.placeholder('hash'),
      sessionId: sql.placeholder('sessionId'),
      generation: sql.placeholder('generation'),
      firstUsedAt: null,
    }),
  )
  const useToken = db.prepareWrite((tx) =>
    tx
      .update(refreshTokens)
      .set({ firstUsedAt: sql.placeholder('at') as never })
      .where(
        and(
          eq(refreshTokens.sessionId, sql.placeholder('sessionId')),
          eq(refreshTokens.generation, sql.placeholder('generation')),
          isNull(refreshTokens.firstUsedAt),
        ),
      ),
  )
  const forgetToken = db.prepareWrite((tx) =>
    tx
      .delete(refreshTokens)
      .where(
        and(
          eq(refreshTokens.sessionId, sql.placeholder('sessionId')),
          eq(refreshTokens.generation, sql.placeholder('generation')),
        ),
      ),
  )
  return { insertToken, useToken, forgetToken }
}
