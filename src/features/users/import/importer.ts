import { and, eq, inArray, or } from 'drizzle-orm'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import type { Reader } from '../../../platform/db/db.ts'
import type { UsersContext } from '../context/context.ts'
import type { HashKinds } from '../credentials/hash-kinds.ts'
import { openIdSubject } from '../social/identity-providers.ts'
import { canReplace, findNewKind } from './new-hashes.ts'
import { findLoginKey, type UserRecord } from './user-record.ts'

/** `kinds`: the kinds of hashes that a dry run has found so far. */
export type ImportPart = { users: UserRecord[]; dryRun: boolean; kinds: string[] }

/**
 * `null`: imported. `present`: imported earlier. `changed`: imported earlier, with another address now. `replaced`:
 * imported earlier, with a hash that had never matched.
 */
type Decision = null | 'present' | 'changed' | 'replaced' | { refused: string }

export type Importer = ReturnType<typeof createImporter>

/** Few enough users that a change does not hold up other changes for long. */
const USERS_PER_CHANGE = 100

/** Imports users from another system. Sends no e-mail. */
export function createImporter(deps: UsersContext & { hashKinds: HashKinds }) {
  const { db, accounts, hashKinds, openId, now } = deps
  const { users, identities } = db.tables
  const { issuer } = openId
  return { importPart }

  /** Imports the users that it can. Repeating a part imports nothing twice. */
  async function importPart({ users: found, dryRun, kinds }: ImportPart) {
    const records = found.map(withStoredSubjects)
    const decisions: Decision[] = []
    const knownKinds = new Set(kinds)
    for (const batch of chunk(records, USERS_PER_CHANGE)) {
      const decided = dryRun
        ? await decide(db.read, batch, knownKinds)
        : await db.write(async (tx) => {
            const result = await decide(tx, batch, knownKinds)
            const accepted = batch.filter((_user, at) => result.decisions[at] === null)
            const rows = accepted.map(toRow)
            if (rows.length > 0) await tx.insert(users).values(rows)
            await accounts.names.add(tx, rows)
            const replaced = batch.filter((_user, at) => result.decisions[at] === 'replaced')
            for (const { id, passwordHash } of replaced)
              await tx.update(users).set({ passwordHash }).where(eq(users.id, id))
            const links = accepted.flatMap(toIdentityRows)
            if (links.length > 0) await tx.insert(identities).values(links)
            await hashKinds.add(tx, result.newKinds)
            return result
          })
      decisions.push(...decided.decisions)
      for (const kind of decided.newKinds) knownKinds.add(kind)
    }
    return { decisions, kinds: [...knownKinds] }
  }

  function withStoredSubjects(user: UserRecord): UserRecord {
    const identities = user.identities.map(({ subject, ...link }) => ({
      ...link,
      subject: link.provider === 'oidc' ? openIdSubject(issuer ?? '', subject) : subject,
    }))
    return { ...user, identities }
  }

  async function decide(from: Reader, batch: UserRecord[], knownKinds: Set<string>) {
    const taken = await readTaken(from, batch)
    const kinds = new Set([...knownKinds, ...(await hashKinds.readKinds(from))])
    const newKinds: string[] = []
    const decisions = batch.map((user): Decision => {
      const key = findLoginKey(user)
      const earlier = taken.ids.get(user.id)
      if (earlier !== undefined && earlier.key !== key) return 'changed'
      const { passwordHash } = user
      const isReplaced = passwordHash !== null && canReplace(earlier?.hash, passwordHash, kinds)
      if (earlier !== undefined && !isReplaced) return 'present'
      const subjects = user.identities.map(({ provider, subject }) => `${provider} ${subject}`)
      if (earlier === undefined) {
        if (key !== null && taken.emailKeys.has(key))
          return { refused: 'another account has this e-mail address' }
        if (subjects.some((subject) => taken.subjects.has(subject)))
          return { refused: 'another account has this provider account' }
        if (issuer === null && user.identities.some(({ provider }) => provider === 'oidc'))
          return { refused: 'has an account of the provider oidc, and OIDC_ISSUER is not set' }
      }
      const kind = passwordHash === null ? null : findNewKind(passwordHash, kinds)
      if (kind === undefined) return { refused: 'there are too many kinds of password hashes' }
      if (kind !== null) {
        kinds.add(kind)
        newKinds.push(kind)
      }
      if (earlier !== undefined) return 'replaced'
      taken.ids.set(user.id, { key, hash: null })
      if (key !== null) taken.emailKeys.add(key)
      for (const subject of subjects) taken.subjects.add(subject)
      return null
    })
    return { decisions, newKinds }
  }

  async function readTaken(from: Reader, batch: UserRecord[]) {
    const ids = batch.map(({ id }) => id)
    const keys = batch.flatMap((user) => findLoginKey(user) ?? [])
    const links = batch.flatMap((user) => user.identities)
    const foundIds = await from
      .select({ id: users.id, key: users.emailKey, hash: users.passwordHash })
      .from(users)
      .where(inArray(users.id, ids))
    const foundKeys = await from
      .select({ key: users.emailKey })
      .from(users)
      .where(inArray(users.emailKey, keys))
    const ofProvider = (provider: string) => {
      const subjects = links.filter((link) => link.provider === provider)
      return and(
        eq(identities.provider, provider),
        inArray(
          identities.subject,
          subjects.map(({ subject }) => subject),
        ),
      )
    }
    const foundLinks = await from
      .select({ provider: identities.provider, subject: identities.subject })
      .from(identities)
      .where(or(ofProvider('google'), ofProvider('apple'), ofProvider('oidc')))
    return {
      ids: new Map(foundIds.map(({ id, ...found }) => [id, found])),
      emailKeys: new Set(foundKeys.map(({ key }) => key)),
      subjects: new Set(foundLinks.map(({ provider, subject }) => `${provider} ${subject}`)),
    }
  }

  function toRow(user: UserRecord): typeof users.$inferInsert {
    const { id, email, emailVerified, name, locale, timezone, currency, passwordHash } = user
    const [identity] = user.identities
    const at = now()
    return {
      id,
      loginType: passwordHash === null && identity ? identity.provider : 'email',
      email,
      emailKey: findLoginKey(user),
      emailVerifiedAt: emailVerified ? at : null,
      passwordHash,
      name,
      locale,
      timezone,
      currency,
      onboardingCompleted: false,
      createdAt: user.createdAt === null ? at : new Date(user.createdAt),
      updatedAt: at,
    }
  }

  function toIdentityRows({ id, identities: links }: UserRecord) {
    const createdAt = now()
    return links.map((link) => ({ ...link, userId: id, grant: null, createdAt }))
  }
}
