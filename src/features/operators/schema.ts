import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type OperatorsDb = Db<ReturnType<typeof operatorTables>>

/** Values before or after a change; secrets are masked. */
export type AuditValues = Record<string, unknown>

export function operatorTables(columns: Columns) {
  const { table, text, ownedBy, int, ms, json, index, uniqueIndex, primaryKey } = columns

  const operators = table(
    'operators',
    {
      id: text().primaryKey(),
      name: text().notNull(),
      role: text().notNull(),
      passwordHash: text(),
      /** Sealed. */
      totpSecret: text(),
      /** The last accepted TOTP step. Codes for this and earlier steps are refused. */
      totpStep: int(),
      createdAt: ms().notNull(),
    },
    (t) => [uniqueIndex('operators_name').on(t.name)],
  )

  const operatorPasskeys = table(
    'operator_passkeys',
    {
      /** The credential id, base64url. */
      id: text().primaryKey(),
      operatorId: ownedBy(() => operators.id),
      /** COSE key, base64url. */
      publicKey: text().notNull(),
      counter: int().notNull(),
      transports: json<string[]>().notNull(),
      /** The host that the passkey was created on, and the only one where it works. */
      host: text().notNull(),
      name: text().notNull(),
      createdAt: ms().notNull(),
      lastUsedAt: ms(),
    },
    (t) => [index('operator_passkeys_operator').on(t.operatorId)],
  )

  const operatorSessions = table(
    'operator_sessions',
    {
      /** SHA-256 of the token in the cookie. */
      hash: text().primaryKey(),
      id: text().notNull(),
      operatorId: ownedBy(() => operators.id),
      device: text().notNull(),
      ip: text().notNull(),
      createdAt: ms().notNull(),
      lastSeenAt: ms().notNull(),
      /** When the operator last used a passkey or a code in this session. */
      provenAt: ms().notNull(),
      /** A passkey's id, or `password`; null in sessions that predate this column. */
      openedWith: text(),
      /** In the same form as `openedWith`. */
      provenWith: text(),
    },
    (t) => [index('operator_sessions_operator').on(t.operatorId)],
  )

  /** Setup links of operators, and passkey challenges. Only hashes are stored. */
  const operatorTokens = table('operator_tokens', {
    hash: text().primaryKey(),
    purpose: text().notNull(),
    /** Null in a sign-in challenge while the operator is unknown. */
    operatorId: text().references(() => operators.id, { onDelete: 'cascade' }),
    /** A sealed TOTP secret that is not confirmed yet. */
    content: text(),
    expiresAt: ms().notNull(),
  })

  const operatorRecoveryCodes = table(
    'operator_recovery_codes',
    {
      operatorId: ownedBy(() => operators.id),
      hash: text().notNull(),
    },
    (t) => [primaryKey({ columns: [t.operatorId, t.hash] })],
  )

  /** Filtered lists that operators have saved for themselves. */
  const operatorViews = table(
    'operator_views',
    {
      operatorId: ownedBy(() => operators.id),
      name: text().notNull(),
      /** The screen, such as `people`, and the query of its URL. */
      path: text().notNull(),
      search: text().notNull(),
    },
    (t) => [primaryKey({ columns: [t.operatorId, t.name] })],
  )

  /** Operators' actions in the console and on the command line. Rows are never changed, only deleted when old. */
  const auditEntries = table(
    'audit_entries',
    {
      id: text().primaryKey(),
      at: ms().notNull(),
      /** The name of the operator; null for a command. */
      operator: text(),
      /** The browser's IP address, or the machine's user for a command. */
      origin: text().notNull(),
      /** Such as `settings.publish`. */
      action: text().notNull(),
      /** An id or a name. */
      target: text(),
      before: json<AuditValues>(),
      after: json<AuditValues>(),
      requestId: text(),
    },
    (t) => [
      index('audit_entries_action').on(t.action, t.id),
      index('audit_entries_operator').on(t.operator, t.id),
      index('audit_entries_target').on(t.target, t.id),
    ],
  )

  return {
    operators,
    operatorPasskeys,
    operatorSessions,
    operatorTokens,
    operatorRecoveryCodes,
    operatorViews,
    auditEntries,
  }
}
