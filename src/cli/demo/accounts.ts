import { eq } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import type { GeneratedUser } from './generated-users.ts'

/** Users seen within this time get a session. Sessions end after 60 idle days. */
const ACTIVE_SESSION_MS = 55 * DAY_MS

/** Adds accounts and their devices. They have no passwords, because hashing would take most of the time. */
export async function addGeneratedUsers(
  { users, db, now }: Services,
  generatedUsers: GeneratedUser[],
) {
  const records = generatedUsers.map((user, line) => ({
    line,
    id: user.id,
    formerId: null,
    email: user.email,
    emailVerified: true,
    name: user.name,
    locale: user.culture.locale,
    timezone: user.culture.timezone,
    currency: user.culture.currency.toLowerCase(),
    createdAt: user.joinedAt,
    passwordHash: null,
    identities:
      user.provider === null
        ? []
        : [{ provider: user.provider, subject: sha256(user.email), email: user.email }],
  }))
  await users.importer.importPart({ users: records, dryRun: false, kinds: [] })
  const { users: accounts, sessions } = db.tables
  await db.write(async (tx) => {
    for (const { id, culture, platform, device, joinedAt, lastSeenAt } of generatedUsers) {
      const { country } = culture
      const seen = {
        lastSeenAt: new Date(lastSeenAt),
        platform,
        country,
        onboardingCompleted: true,
      }
      const [account] = await tx.update(accounts).set(seen).where(eq(accounts.id, id)).returning()
      if (!account || now().getTime() - lastSeenAt > ACTIVE_SESSION_MS) continue
      const from = { name: device, sealed: false, platform, country }
      const { sessionId } = await users.sessions.open(tx, account, from)
      const times = { createdAt: new Date(joinedAt), lastUsedAt: new Date(lastSeenAt) }
      await tx.update(sessions).set(times).where(eq(sessions.id, sessionId))
      await tx.update(accounts).set(seen).where(eq(accounts.id, id))
    }
  })
}
