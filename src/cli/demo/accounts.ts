import { eq } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import type { Person } from './people.ts'

/** Sessions end after 60 idle days. */
const HAS_SESSION_MS = 55 * DAY_MS

/** Adds accounts without passwords, whose hashes would take most of the time, and their devices. */
export async function addPeople({ users, db, now }: Services, people: Person[]) {
  const records = people.map((person, line) => ({
    line,
    id: person.id,
    formerId: null,
    email: person.email,
    emailVerified: true,
    name: person.name,
    locale: person.culture.locale,
    timezone: person.culture.timezone,
    currency: person.culture.currency.toLowerCase(),
    createdAt: person.joinedAt,
    passwordHash: null,
    identities:
      person.provider === null
        ? []
        : [{ provider: person.provider, subject: sha256(person.email), email: person.email }],
  }))
  await users.importer.importPart({ users: records, dryRun: false, kinds: [] })
  const { users: accounts, sessions } = db.tables
  await db.write(async (tx) => {
    for (const { id, culture, platform, device, joinedAt, lastSeenAt } of people) {
      const { country } = culture
      const seen = {
        lastSeenAt: new Date(lastSeenAt),
        platform,
        country,
        onboardingCompleted: true,
      }
      const [account] = await tx.update(accounts).set(seen).where(eq(accounts.id, id)).returning()
      if (!account || now().getTime() - lastSeenAt > HAS_SESSION_MS) continue
      const from = { name: device, sealed: false, platform, country }
      const { sessionId } = await users.sessions.open(tx, account, from)
      const times = { createdAt: new Date(joinedAt), lastUsedAt: new Date(lastSeenAt) }
      await tx.update(sessions).set(times).where(eq(sessions.id, sessionId))
      await tx.update(accounts).set(seen).where(eq(accounts.id, id))
    }
  })
}
