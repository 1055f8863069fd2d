import { randomCharacters } from '../ids.ts'

const PREFIX = 'hp_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 190 bits. */
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const FORMAT = /^hp_[0-9A-Za-z]{38}$/

/** `hp_`, 32 random characters, and their CRC-32 in base 62, by which secret scanners recognize a key. */
export function newApiKey(): string {
  const random = randomCharacters(ALPHABET, RANDOM_LENGTH)
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
