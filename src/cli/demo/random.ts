import { sha256 } from '../../lib/crypto/hash.ts'
import { firstIdAt } from '../../lib/ids.ts'

export type Random = ReturnType<typeof createRandom>

/** Generates the same numbers in every demo (mulberry32). */
export function createRandom(seed: number) {
  let state = seed
  return { next, between, chance, pick }

  /** From 0 to less than 1. */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  function between(low: number, high: number): number {
    return low + next() * (high - low)
  }

  function chance(probability: number): boolean {
    return next() < probability
  }

  function pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(next() * items.length)] as Item
  }
}

/** A UUIDv7 for a time in the past, so that lists sort by time. */
export function idAt(at: number, name: string): string {
  const hex = sha256(name, 'hex')
  return `${firstIdAt(Math.floor(at))}-7${hex.slice(0, 3)}-8${hex.slice(3, 6)}-${hex.slice(6, 18)}`
}
