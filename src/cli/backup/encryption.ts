import { scryptSync } from 'node:crypto'
import { ArchiveError } from './archive.ts'

const MAGIC = 'age-encryption.org/v1\n'
/** The header of an encrypted file ends within this size. */
const MAX_HEADER_BYTES = 64 * 1024

const SCRYPT = { N: 2 ** 17, r: 8, maxmem: 2 ** 28 }

export const PASSPHRASE = 'passphrase'
const RECIPIENT = 'recipient'

/** Encrypts in the age format, for a recipient (`age1…`) or with a passphrase. */
export async function encrypt(plain: ReadableStream<Uint8Array>, key: string) {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  if (!isRecipient(key)) encrypter.setPassphrase(key)
  else {
    try {
      encrypter.addRecipient(key)
    } catch (cause) {
      throw new ArchiveError('BACKUP_KEY is not a valid age recipient: copy it again.', { cause })
    }
  }
  return encrypter.encrypt(plain)
}

/** The public description of `key`: its recipient, `passphrase`, or null if there is no key. */
export async function findEncryption(key: string | null): Promise<string | null> {
  if (key === null) return null
  const encrypting = await encryptingKey(key)
  return isRecipient(encrypting) ? encrypting : PASSPHRASE
}

/** Identifies a passphrase by a hash that is as slow to guess as the archive's. A recipient is its own fingerprint. */
export function computeFingerprint(key: string | null): string | null {
  if (key === null || isRecipient(key)) return key
  return scryptSync(key, 'homeport backup key', 4, SCRYPT).toString('hex')
}

/** The key to encrypt with: the recipient of an age identity, otherwise `key` itself. */
export async function encryptingKey(key: string): Promise<string> {
  if (!isIdentity(key)) return key
  const { identityToRecipient } = await import('age-encryption')
  return identityToRecipient(key).catch((cause) => {
    throw new ArchiveError('BACKUP_KEY is not a valid age secret key: copy it again.', { cause })
  })
}

/**
 * A passphrase proves who wrote the archive, a recipient does not. Throws `ArchiveError` if `key` is missing or wrong.
 */
export async function openArchive(sealed: ReadableStream<Uint8Array>, key: string | null) {
  const [copy, stream] = sealed.tee()
  const head = await readHead(copy)
  if (!head.startsWith(MAGIC)) return { archive: stream, encryption: null }
  if (!/^--- /m.test(head)) throw new ArchiveError('The age header is damaged: use another backup.')
  const archive = await decrypt(stream, key)
  return { archive, encryption: key !== null && isIdentity(key) ? RECIPIENT : PASSPHRASE }
}

async function readHead(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  let head = ''
  while (head.length < MAX_HEADER_BYTES) {
    const { value, done } = await reader.read()
    if (done) break
    head += Buffer.from(value).toString('latin1')
  }
  // Not awaited: the promise settles only when the other copy ends.
  void reader.cancel()
  return head
}

async function decrypt(sealed: ReadableStream<Uint8Array>, key: string | null) {
  if (key === null || isRecipient(key)) {
    throw new ArchiveError(
      'The backup is encrypted: set BACKUP_KEY to its passphrase, or to the secret key (AGE-SECRET-KEY-…) of the recipient.',
    )
  }
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  try {
    if (isIdentity(key)) decrypter.addIdentity(key)
    else decrypter.addPassphrase(key)
    return await decrypter.decrypt(sealed)
  } catch (cause) {
    throw new ArchiveError(
      'The backup cannot be decrypted: it is damaged, or BACKUP_KEY is the wrong key.',
      {
        cause,
      },
    )
  }
}

/** A recipient can encrypt but not decrypt. */
export function isRecipient(key: string): boolean {
  return /^age1/.test(key)
}

function isIdentity(key: string): boolean {
  return /^AGE-SECRET-KEY-/.test(key)
}
