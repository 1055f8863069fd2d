const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Ids like Stripe's: a prefix, and letters and digits that increase with time. */
export function createIds(seed: number) {
  let count = 0
  return (prefix: string, length = 24) => {
    const number = String(++count).padStart(9, '0')
    const noise = Bun.hash(`${seed}${prefix}${count}`)
    const letters = Array.from({ length: length - number.length - 1 }, (_, at) => {
      const index = Number((noise >> BigInt((at * 6) % 58)) & 63n) % ALPHABET.length
      return ALPHABET[index]
    })
    return `${prefix}_1${number}${letters.join('')}`
  }
}
