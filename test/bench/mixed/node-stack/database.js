import Database from 'better-sqlite3'

/** Opens the database at `path`, as durable as Homeport's: commits survive a power cut. */
export function openDatabase(path) {
  const db = new Database(path)
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'foreign_keys = ON',
    'cache_size = -16384',
  ]) {
    db.pragma(pragma)
  }
  db.exec(`
    CREATE TABLE IF NOT EXISTS users (
      id TEXT PRIMARY KEY,
      email TEXT NOT NULL UNIQUE,
      password_hash TEXT NOT NULL,
      name TEXT NOT NULL,
      locale TEXT NOT NULL,
      timezone TEXT NOT NULL,
      currency TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS sessions (
      id TEXT PRIMARY KEY,
      user_id TEXT NOT NULL REFERENCES users (id),
      expires_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS refresh_tokens (
      hash BLOB PRIMARY KEY,
      session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      used_at INTEGER
    ) STRICT;
    CREATE INDEX IF NOT EXISTS refresh_tokens_session ON refresh_tokens (session_id);
    CREATE TABLE IF NOT EXISTS events (
      id INTEGER PRIMARY KEY,
      event_id TEXT NOT NULL UNIQUE,
      type TEXT NOT NULL,
      event_at INTEGER NOT NULL,
      received_at INTEGER NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS subscriptions (
      line TEXT PRIMARY KEY,
      user_id TEXT NOT NULL,
      product_id TEXT NOT NULL,
      store TEXT NOT NULL,
      period_type TEXT NOT NULL,
      event_at INTEGER NOT NULL,
      purchased_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      will_renew INTEGER NOT NULL,
      entitlements TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS subscriptions_user ON subscriptions (user_id);
    CREATE TABLE IF NOT EXISTS pictures (
      key TEXT PRIMARY KEY,
      user_id TEXT NOT NULL,
      size INTEGER NOT NULL,
      width INTEGER NOT NULL,
      height INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
  `)
  return db
}
