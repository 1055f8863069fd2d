import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import { ArchiveError } from './archive.ts'

const MAGIC = 'age-encryption.org/v1\n'
/** Within so many bytes it is said what can decrypt the rest. */
const HEADER_LIMIT = 64 * 1024

export const PASSPHRASE = 'passphrase'
const RECIPIENT = 'recipient'

/** Encrypts in the format of age, for a recipient (`age1…`) or else with a passphrase. */
export async function encrypt(plain: ReadableStream<Uint8Array>, key: string) {
  const encrypter = new Encrypter()
  if (!isRecipient(key)) encrypter.setPassphrase(key)
  else {
    try {
      encrypter.addRecipient(key)
    } catch (cause) {
      throw new ArchiveError('BACKUP_KEY is no recipient of age: copy it again.', { cause })
    }
  }
  return encrypter.encrypt(plain)
}

/** What `key` encrypts with, for others to see: a recipient, `passphrase`, or null for nothing. */
export async function encryptionOf(key: string | null): Promise<string | null> {
  if (key === null) return null
  const encrypting = await encryptingKey(key)
  return isRecipient(encrypting) ? encrypting : PASSPHRASE
}

/** The key that encrypts where `key` is the secret one of a recipient; else `key` itself. */
export async function encryptingKey(key: string): Promise<string> {
  if (!isIdentity(key)) return key
  return identityToRecipient(key).catch((cause) => {
    throw new ArchiveError('BACKUP_KEY is no secret key of age: copy it again.', { cause })
  })
}

/**
 * The bytes of an archive, decrypted where it is encrypted, and with what: whoever knows a passphrase has written it,
 * for a recipient anybody may have. Throws `ArchiveError` without the right key.
 */
export async function openArchive(path: string, key: string | null) {
  const stream = Bun.file(path).stream()
  const head = await Bun.file(path).slice(0, HEADER_LIMIT).text()
  if (!head.startsWith(MAGIC)) return { archive: stream, encryption: null }
  if (!/^--- /m.test(head))
    throw new ArchiveError('Its encryption is damaged: take another backup.')
  const archive = await decrypt(stream, key)
  return { archive, encryption: key !== null && isIdentity(key) ? RECIPIENT : PASSPHRASE }
}

/** Decrypts with an identity (`AGE-SECRET-KEY-…`) or else a passphrase. */
async function decrypt(sealed: ReadableStream<Uint8Array>, key: string | null) {
  if (key === null || isRecipient(key)) {
    throw new ArchiveError(
      'It is encrypted: set BACKUP_KEY to its passphrase, or to the secret key (AGE-SECRET-KEY-…) of the recipient.',
    )
  }
  const decrypter = new Decrypter()
  try {
    if (isIdentity(key)) decrypter.addIdentity(key)
    else decrypter.addPassphrase(key)
    return await decrypter.decrypt(sealed)
  } catch (cause) {
    throw new ArchiveError('It cannot be decrypted: it is damaged, or BACKUP_KEY is another one.', {
      cause,
    })
  }
}

/** Whether a key can only encrypt. */
export function isRecipient(key: string): boolean {
  return /^age1/.test(key)
}

function isIdentity(key: string): boolean {
  return /^AGE-SECRET-KEY-/.test(key)
}
