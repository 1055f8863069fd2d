/** The SQLite result code, such as `SQLITE_FULL`, anywhere in the chain of causes. */
export function sqliteCode(error: unknown): string | null {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as { code?: unknown }
    if (typeof code === 'string' && code.startsWith('SQLITE_')) return code
  }
  return null
}

/** Why a database file or its directory could not be opened or written; null for other errors. */
export function classifyOpenError(
  error: unknown,
): { kind: 'full' | 'read_only' | 'busy' | 'io'; code: string } | null {
  const code = sqliteCode(error) ?? String((error as { code?: unknown }).code)
  if (/^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL)/.test(code)) return { kind: 'full', code }
  if (/^(EROFS|SQLITE_READONLY)/.test(code)) return { kind: 'read_only', code }
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return { kind: 'busy', code }
  return /^(E[A-Z]+|SQLITE_(CANTOPEN|IOERR|PERM|AUTH|PROTOCOL|NOLFS)\w*)$/.test(code)
    ? { kind: 'io', code }
    : null
}
