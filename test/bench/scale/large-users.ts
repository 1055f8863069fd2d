import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hashToken } from '../../../src/features/users/sessions/tokens.ts'
import { PASSWORD_COSTS } from '../../../src/lib/passwords/passwords.ts'
import type { Insert, Size, Tables } from './large-data.ts'

export const PASSWORD = 'correct horse battery'
/** How many times each user's session has been refreshed. */
export const SESSION_GENERATION = 1
const DAY = 24 * 60 * 60 * 1000
const START = Date.UTC(2024, 0)
const COUNTRIES = ['US', 'US', 'DE', 'BR', 'JP', null]
const NAMES = ['Ann', 'Bob', 'Carla', 'Deniz', 'Eve', 'Farid', 'Grace', 'Hiro', 'Ines', 'Jon']

/** A user's id: a UUIDv7 with the time of registration. */
export function userIdOf(at: number): string {
  const time = (START + at * 1_000).toString(16).padStart(12, '0')
  const rest = (at >>> 0).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${rest}`
}

export function sessionIdOf(at: number): string {
  return userIdOf(at).replace('-7000-', '-7001-')
}

/** The current refresh token of a user's session. */
export function refreshTokenOf(at: number): string {
  return `refresh-${sessionIdOf(at)}`
}

/** The key of attachment `at`. User `n` owns the attachments `n` and `n` plus the number of users. */
export function attachmentKey(at: number): string {
  return `f${at.toString(36).padStart(25, '0')}.webp`
}

export function emailOf(at: number): string {
  return `${NAMES[at % NAMES.length]?.toLowerCase()}.${at}@example.com`
}

/** Adds users with one session each, and their attachments. Yields the progress. */
export async function* addUsers(tables: Tables, insert: Insert, size: Size, dataDir: string) {
  const { users, sessions, refreshTokens, knownDevices } = tables
  const passwordHash = await Bun.password.hash(PASSWORD, {
    algorithm: 'argon2id',
    ...PASSWORD_COSTS.standard,
  })
  for (let at = 0; at < size.users; at++) {
    const id = userIdOf(at)
    const createdAt = new Date(START + at * 1_000)
    const email = emailOf(at)
    insert(users, {
      id,
      loginType: 'email',
      email,
      emailKey: email,
      emailVerifiedAt: at % 3 === 0 ? null : createdAt,
      passwordHash,
      name: NAMES[at % NAMES.length] ?? '',
      locale: 'en',
      timezone: 'europe/berlin',
      currency: 'usd',
      onboardingCompleted: at % 2 === 0,
      createdAt,
      updatedAt: createdAt,
      lastSeenAt: new Date(),
      platform: at % 2 === 0 ? 'ios' : 'android',
      country: COUNTRIES[at % COUNTRIES.length] ?? null,
    })
    const sessionId = sessionIdOf(at)
    const lastUsedAt = new Date()
    const expiresAt = new Date(lastUsedAt.getTime() + 90 * DAY)
    const device = at % 2 === 0 ? 'iPhone' : 'Pixel'
    insert(sessions, {
      id: sessionId,
      userId: id,
      device,
      sealed: false,
      openedByGuest: false,
      generation: SESSION_GENERATION,
      createdAt,
      lastUsedAt,
      expiresAt,
    })
    insert(refreshTokens, {
      hash: hashToken(refreshTokenOf(at)),
      sessionId,
      generation: SESSION_GENERATION,
      firstUsedAt: lastUsedAt,
    })
    insert(knownDevices, { userId: id, device, seenAt: lastUsedAt })
    if (at % 50_000 === 49_999) yield `${at + 1} users`
  }
  yield* addAttachments(tables, insert, size, dataDir)
}

async function* addAttachments(tables: Tables, insert: Insert, size: Size, dataDir: string) {
  const { attachments } = tables
  const picture = Buffer.alloc(20_000, 'picture ')
  for (let at = 0; at < size.attachments; at++) {
    const key = attachmentKey(at)
    if (at < size.files) {
      const folder = join(dataDir, 'files', key.slice(0, 1))
      if (at === 0) await mkdir(folder, { recursive: true })
      await Bun.write(join(folder, key), picture)
    }
    insert(attachments, {
      key,
      userId: userIdOf(at % size.users),
      type: at % 2 === 0 ? 'publicAsset' : 'supportTicket',
      fileName: `picture-${at}.webp`,
      itemType: 'image/webp',
      size: picture.length,
      width: 640,
      height: 480,
      createdAt: new Date(START + at * 500),
    })
    if (at % 100_000 === 99_999) yield `${at + 1} attachments`
  }
}
