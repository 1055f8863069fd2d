import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log/log.ts'
import {
  decoyHash,
  type FirebaseParameters,
  findHashKind,
  firebaseHash,
  readForeignHash,
  verificationMs,
} from '../../../src/lib/passwords/imported-password-hashes.ts'
import { createPasswords } from '../../../src/lib/passwords/passwords.ts'
import { FOREIGN_HASHES, FOREIGN_PASSWORD } from '../../support/foreign-hashes.ts'

const LONG = 'x'.repeat(100)
const UNICODE = 'Pässwörter sind 好'
/** The sample of https://github.com/firebase/scrypt. */
const SAMPLE: FirebaseParameters = {
  signerKey: Buffer.from(
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    'base64',
  ),
  saltSeparator: Buffer.from('Bw==', 'base64'),
  rounds: 8,
  memCost: 14,
}
const SAMPLE_HASH =
  'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='

test.each(FOREIGN_HASHES)('verifies %s', async (_name, text) => {
  const hash = storedForm(text)
  expect(await verify(FOREIGN_PASSWORD, hash)).toBe(true)
  expect(await verify(`${FOREIGN_PASSWORD}!`, hash)).toBe(false)
  expect(await verify('', hash)).toBe(false)
})

test.each([
  '$2a$04$ltP2Wwyy9lAfa9pBU9EVlftxsSfUWTAatYDefb89JdX92tLbWd9IO',
  '$2y$04$ltP2Wwyy9lAfa9pBU9EVletxsSfUWTAatYDefb89JdX92tLbWd9IP',
  '$2b$04$ltP2Wwyy9lAfa9pBU9EVlttxsSfUWTAatYDefb89JdX92tLbWd9IR',
])('verifies a bcrypt hash with unused bits: %s', async (text) => {
  const hash = storedForm(text)
  expect(hash).toBe('$2b$04$ltP2Wwyy9lAfa9pBU9EVletxsSfUWTAatYDefb89JdX92tLbWd9IO')
  expect(await verify(FOREIGN_PASSWORD, hash)).toBe(true)
})

test('verifies Firebase’s published sample without storing the signer key', async () => {
  const hash = firebaseHash(SAMPLE, SAMPLE_HASH, '42xEC+ixf3L2lw==') ?? ''
  expect(readForeignHash(hash)).toEqual({ hash })
  expect(await verify('user1password', hash)).toBe(true)
  expect(await verify('user2password', hash)).toBe(false)
  const key = Buffer.from(SAMPLE.signerKey).toString('base64')
  expect(hash).not.toContain(key.slice(0, 12))
  const wrongKey = { ...SAMPLE, signerKey: Buffer.alloc(64, 1) }
  const wrong = firebaseHash(wrongKey, SAMPLE_HASH, '42xEC+ixf3L2lw==') ?? ''
  expect(await verify('user1password', wrong)).toBe(false)
})

test('refuses a Firebase hash that does not fit the signer key', () => {
  expect(firebaseHash(SAMPLE, 'AAAA', 'AAAA')).toBeNull()
})

test('verifies passwords beyond ASCII', async () => {
  const bcrypt = '$2b$04$OKWZw801blbWXDjrcnQbLOGBLi/85ZEggWeWHgGktbidLM6sGj2dK'
  const firebase =
    'i+Jxpk+77QmoXsYJh9Qw9gkTEwl8WzNLwX34LJrT5hgKMpJVjXCVK7eIAQqDXId720DOan9sJCuGb8QPz1SZhw=='
  expect(await verify(UNICODE, bcrypt)).toBe(true)
  expect(await verify(UNICODE, firebaseHash(SAMPLE, firebase, 'c2FsdHNhbHQxMg==') ?? '')).toBe(true)
})

test('bcrypt ignores what follows the first 72 bytes, as in other systems', async () => {
  const hash = '$2b$04$kDUrF.Mgh1s0QI0zJSNlteMh1pGfGF5E4k31M1T/yUXyLAOPQkSuW'
  expect(await verify(LONG, hash)).toBe(true)
  expect(await verify(LONG.slice(0, 71), hash)).toBe(false)
})

test.each([
  ['bcrypt with a high cost', `$2b$15$${'a'.repeat(53)}`],
  ['PBKDF2 with many iterations', '$pbkdf2-sha512$i=99999999$AAECAwQFBgc$AAAAAAAAAAAAAAAAAAAAAA'],
  ['PBKDF2 of Django', 'pbkdf2_sha256$99999999$salt$AAAAAAAAAAAAAAAAAAAAAA=='],
  ['argon2 with much memory', argon2('m=4194304,t=1,p=1')],
  ['argon2 with many passes', argon2('m=19456,t=4000000000,p=1')],
  ['a hash with huge numbers', argon2(`m=${'9'.repeat(400)},t=1,p=1`)],
  ['Firebase’s scrypt with much memory', firebase('ln=24,r=8')],
  ['Firebase’s scrypt with large blocks', firebase('ln=14,r=8000')],
])('refuses %s as too expensive', (_name, text) => {
  expect(readForeignHash(text)).toEqual({ refused: expect.stringContaining('too long') })
})

test.each([
  ['bcrypt without rounds', `$2b$01$${'a'.repeat(53)}`, 'invalid'],
  ['argon2 with too little memory', argon2('m=8,t=1,p=4'), 'invalid'],
  ['argon2 with invalid base64', `${argon2('m=64,t=1,p=1').slice(0, -1)}B`, 'invalid'],
  ['argon2 without passes', argon2('m=64,t=0,p=1'), 'invalid'],
  ['PBKDF2 without iterations', '$pbkdf2-sha1$i=0$AAECAwQFBgc$AAAAAAAAAAAAAAAAAAAAAA', 'invalid'],
  ['PBKDF2 with a short hash', '$pbkdf2-sha256$i=10$AAECAwQFBgc$AAAA', 'unknown'],
  ['a faulty bcrypt ($2x$)', `$2x$10$${'a'.repeat(53)}`, 'unknown'],
  ['an unsalted hash', '5f4dcc3b5aa765d61d8327deb882cf99', 'unknown'],
  ['a password', FOREIGN_PASSWORD, 'unknown'],
])('refuses %s', (_name, text, reason) => {
  expect(readForeignHash(text)).toEqual({ refused: expect.stringContaining(reason) })
})

test('a decoy has the kind of the hash that it stands in for', () => {
  for (const [, text] of FOREIGN_HASHES) {
    const hash = storedForm(text)
    const kind = findHashKind(hash)
    expect(hash).toStartWith(kind)
    const decoy = decoyHash(kind)
    expect([findHashKind(decoy), readForeignHash(decoy)]).toEqual([kind, { hash: decoy }])
    expect(verificationMs(kind)).toBeGreaterThan(0)
  }
})

function verify(password: string, stored: string): Promise<boolean> {
  const passwords = createPasswords({ memoryCost: 64, timeCost: 1 }, createLog('error'))
  return passwords.serialize(['test'], (hasher) => hasher.verify(password, stored))
}

function storedForm(text: string): string {
  const result = readForeignHash(text)
  if ('refused' in result) throw new Error(`${text}: ${result.refused}`)
  return result.hash
}

function argon2(costs: string): string {
  return `$argon2id$v=19$${costs}$c29tZXNhbHRzb21l$${'A'.repeat(43)}`
}

function firebase(costs: string): string {
  return `$firebase-scrypt$${costs}$c29tZXNhbHRzb21l$${'A'.repeat(43)}`
}

test('a bcrypt decoy takes as long as a real hash, because it is never refused as malformed', async () => {
  for (let at = 0; at < 20; at++)
    expect(await Bun.password.verify('any password', decoyHash('$2b$04$'))).toBe(false)
})
