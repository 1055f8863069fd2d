/** Random values that are the same for the same seed. */
export function seededRandom(seed: number) {
  let state = seed >>> 0
  return {
    /** A whole number from 0 to `limit`, exclusive. */
    upTo: (limit: number) => Math.floor(next() * limit),
    chance: (probability: number) => next() < probability,
    uuid: () => {
      const hex = Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16)).join('')
      return hex.replace(/^(.{8})(.{4}).(.{3})(.{4})(.{12})$/, '$1-$2-4$3-$4-$5')
    },
  }

  /** Mulberry32, by Tommy Ettinger: from 0 to 1, exclusive. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
