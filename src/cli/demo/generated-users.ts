import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assetPath } from '../../lib/files/asset-path.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { idAt, type Random } from './random.ts'

export type Culture = {
  locale: string
  country: string
  timezone: string
  currency: string
  /** The prices of a monthly and a yearly subscription, and of a pack of coins. */
  prices: { month: number; year: number; coins: number }
  given: string[]
  family: string[]
}

export type GeneratedUser = {
  id: string
  name: string
  email: string
  culture: Culture
  /** Null for sign-in by e-mailed code. */
  provider: 'apple' | 'google' | null
  platform: 'ios' | 'android'
  device: string
  /** In ms. */
  joinedAt: number
  lastSeenAt: number
}

const DAYS = 396
const IPHONES = ['iPhone 15', 'iPhone 16', 'iPhone 16 Pro', 'iPhone 17', 'iPad Air'] as const
const ANDROIDS = ['Pixel 9', 'Pixel 10', 'Galaxy S24', 'Galaxy A56', 'Xperia 10'] as const

/** Users who joined in the last 13 months at a growing rate, earliest first. */
export async function generateUsers(
  count: number,
  random: Random,
  now: number,
): Promise<GeneratedUser[]> {
  const file = await readFile(join(assetPath('seed'), 'demo.json'), 'utf8')
  const cultures = JSON.parse(file) as Culture[]
  const taken = new Set<string>()
  const users: GeneratedUser[] = []
  for (let at = 0; at < count; at++) {
    const joinedAt = now - DAYS * DAY_MS * (1 - ((at + random.next()) / count) ** 0.75)
    users.push(generateUser(cultures, random, taken, joinedAt, now))
  }
  return users
}

function generateUser(
  cultures: Culture[],
  random: Random,
  taken: Set<string>,
  joinedAt: number,
  now: number,
): GeneratedUser {
  const culture = random.pick(cultures)
  const name = `${random.pick(culture.given)} ${random.pick(culture.family)}`
  const email = `${toAscii(name)}@example.com`
  if (taken.has(email)) return generateUser(cultures, random, taken, joinedAt, now)
  taken.add(email)
  const isOnIos = random.chance(0.58)
  const stillUses = random.chance(0.75)
  const until = stillUses ? now - random.between(0, 9) * DAY_MS : random.between(joinedAt, now)
  return {
    id: idAt(joinedAt, email),
    name,
    email,
    culture,
    provider: random.chance(0.3) ? null : isOnIos ? 'apple' : 'google',
    platform: isOnIos ? 'ios' : 'android',
    device: random.pick(isOnIos ? IPHONES : ANDROIDS),
    joinedAt,
    lastSeenAt: Math.max(joinedAt, until),
  }
}

function toAscii(name: string): string {
  const letters = name.normalize('NFD').replaceAll(/\p{M}/gu, '')
  return letters.toLowerCase().replaceAll(' ', '.')
}
