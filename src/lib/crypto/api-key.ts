import { randomBytes } from 'node:crypto'

const PREFIX = 'hp_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 190 bits. */
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const FORMAT = /^hp_[0-9A-Za-z]{38}$/

/** `hp_`, 32 random characters, and their CRC-32 in base 62, by which secret scanners recognize a key. */
export function newApiKey(): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      // 248 is the largest multiple of 62 in a byte: beyond it the first characters would be more likely.
      if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET[byte % 62]
    }
  }
  return `${PREFIX}${random}${computeChecksum(random)}`
}

export function isApiKey(text: string): boolean {
  if (!FORMAT.test(text)) return false
  const random = text.slice(PREFIX.length, -CHECKSUM_LENGTH)
  return text.endsWith(computeChecksum(random))
}

function computeChecksum(random: string): string {
  let rest = Bun.hash.crc32(random)
  let checksum = ''
  for (let at = 0; at < CHECKSUM_LENGTH; at++) {
    checksum = ALPHABET[rest % 62] + checksum
    rest = Math.floor(rest / 62)
  }
  return checksum
}
