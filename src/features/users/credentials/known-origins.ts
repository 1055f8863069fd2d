import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Limit, WindowRule } from '../../../platform/limits/limits.ts'
import type { UsersContext } from '../context/context.ts'
import type { Devices } from '../sessions/devices.ts'

/** Where an attempt to sign in comes from; `token`: the bearer token that it carries, valid or not. */
export type AttemptOrigin = { ip: string; device: { name: string }; token?: string | null }

export type KnownOrigins = ReturnType<typeof createKnownOrigins>

/** Not a limit: its counter remembers, as a hash, that a user has signed in from a network. */
const SIGNED_IN: WindowRule = { name: 'known-network', max: 1, seconds: (90 * DAY_MS) / 1000 }

/**
 * Counts the owner's failed attempts separately, so that strangers cannot lock the owner out. A device's name can be
 * guessed.
 */
export function createKnownOrigins(deps: UsersContext & { devices: Devices }) {
  const { limits, devices, tokens } = deps
  return { remember, recognize }

  async function remember(tx: Tx, userId: string, ip: string) {
    await limits.countIfAllowed(tx, toNetworkLimit(userId, ip))
  }

  /**
   * The key that counts the attempts; null for strangers. Any token that the user ever had identifies a device. Devices
   * with ended sessions share one count: an earlier holder of the account may have many tokens. On a known network,
   * each known device has its own count, and all others share one.
   */
  async function recognize(userId: string, { ip, device, token }: AttemptOrigin) {
    const owner = token ? await tokens.findOwner(token) : null
    const isOwners = owner?.userId === userId
    if (isOwners && (await devices.isSignedIn(owner.sessionId)))
      return `${userId} ${owner.sessionId}`
    const isDeviceKnown = await devices.isKnown(userId, device.name)
    const [network] = await limits.activeLimits([toNetworkLimit(userId, ip)])
    if (network) return `${userId} ${ip} ${isDeviceKnown ? device.name : ''}`
    return isOwners ? `${userId} ended` : null
  }
}

function toNetworkLimit(userId: string, ip: string): Limit {
  return { rule: SIGNED_IN, key: `${userId} ${ip}` }
}
