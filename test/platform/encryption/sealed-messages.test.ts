import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto'
import { createTestApp } from '../../support/app.ts'
import { cases } from '../../support/cases.ts'
import { fault } from '../../support/fault.ts'
import { messagesFor } from '../../support/messages.ts'
import { deriveKey, sealWithSharedKey } from '../../support/reference-jwe.ts'

const PROFILE = '/api/user/profile/v1'
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const INVALID = {
  code: 'encryption_invalid',
  message: 'The sealed message cannot be opened.',
  requestId: 'fixed',
}

test(`refuses a message with any character changed, always with the same body ${fault(121)}`, async () => {
  await using app = await createTestApp()
  const { seal, get, publicKey } = await messagesFor(app)
  const { accessToken: at } = await app.register()
  for (const part of [0, 1, 2, 3, 4]) {
    for (let round = 0; round < cases(100, 1_000); round++) {
      const parts = seal({ head: { at } }).split('.')
      parts[part] = changeCharacter(parts[part] ?? '')
      const reply = await get(PROFILE, parts.join('.'))
      expect(reply.status).toBe(400)
      // A changed key id is an unknown key, the one error that an app can recover from.
      if (part === 0 && namesAnotherKey(parts[0] ?? '', publicKey.kid)) {
        expect(reply.json.code).toBe('encryption_unknown_key')
      } else expect(reply.text).toBe(JSON.stringify(INVALID))
    }
  }
}, 60_000)

test(`every invalid message gets the same response ${fault(121, 130)}`, async () => {
  await using app = await createTestApp()
  const { seal, get, post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register()
  const good = seal({})
  const [header, , iv, text, tag] = good.split('.')
  const broken = [
    '',
    'x',
    'a.b.c.d',
    'a.b.c.d.e',
    'a.b.c.d.e.f',
    `${good}.`,
    `${good}=`,
    `${good}, ${good}`,
    ` ${header}. .${iv}.${text}.${tag}`,
    `${header}.${tag}.${iv}.${text}.${tag}`,
    `${header}..${iv}.${text?.slice(0, 8)} ${text?.slice(8)}.${tag}`,
    `${header}..${iv}A.${text}.${tag}`,
    `${header}..${iv}.${text}.${tag?.slice(0, 16)}`,
    `${header}..${tag}.${text}.${iv}`,
    `${'A'.repeat(5_000)}..${iv}.${text}.${tag}`,
    `${toBase64Url('null')}..${iv}.${text}.${tag}`,
    `${toBase64Url('[]')}..${iv}.${text}.${tag}`,
    seal({ plaintext: 'no newline' }),
    seal({ plaintext: '\n' }),
    seal({ plaintext: '{}\n' }),
    seal({ plaintext: `${'['.repeat(10_000)}\n` }),
    seal({ plaintext: '{"v":1}\n' }),
    ...[
      { v: 2 },
      { jti: 'short' },
      { jti: 'a'.repeat(23) },
      { iat: 'now' },
      { iat: 1.5 },
      { iat: String(Math.floor(Date.now() / 1000)) },
      { rk: 'short' },
      { rk: null },
      { ath: 7 },
      { extra: true },
      { htm: 'PATCH' },
      { htu: '/' },
      { ath: 'a' },
    ].map((head) => seal({ head })),
    ...[
      { typ: 'JWT' },
      { typ: 'res+jwe' },
      { typ: undefined },
      { cty: 7 },
      { cty: 'a\r\nb: c' },
    ].map((header) => seal({ header })),
  ]
  for (const message of broken) {
    const reply = await get(PROFILE, message)
    expect([message, reply.status, reply.text]).toEqual([message, 400, JSON.stringify(INVALID)])
  }
  const patch = patchName(accessToken, 'New')
  const twice = { body: patch, headers: { payload: patch, env: 'production' } }
  const both = { ...twice.headers, 'content-type': 'application/jose' }
  const misplaced = [
    await post('PATCH', PROFILE, Buffer.from([255, 254])),
    await post('PATCH', PROFILE, patch, { headers: { payload: patch } }),
    await app.ask('PATCH', PROFILE, { ...twice, headers: { ...both } }),
    await app.ask('PATCH', PROFILE, { json: { profile: { name: 'x' } }, headers: both }),
    await app.ask('PATCH', PROFILE, { json: {}, headers: { env: 'production', payload: patch } }),
  ]
  const options = { headers: { 'content-type': 'application/jose; charset=utf-8' } }
  expect((await post('PATCH', PROFILE, patchName(accessToken, 'Named'), options)).status).toBe(200)
  for (const { status, json } of misplaced) {
    expect([status, json.code, json.message]).toEqual([400, INVALID.code, INVALID.message])
  }
})

test(`the response to a message for an unknown key names the key set ${fault(124)}`, async () => {
  await using app = await createTestApp()
  const { seal, get } = await messagesFor(app)
  const names = [
    'unknown',
    '',
    '../../etc/passwd',
    "' OR 1=1 --",
    '__proto__',
    'x'.repeat(300),
    7,
    null,
    {},
    ['a'],
    undefined,
  ]
  for (const kid of names) {
    const { status, json } = await get(PROFILE, seal({ header: { kid } }))
    expect([kid, status, json.code]).toEqual([kid, 400, 'encryption_unknown_key'])
    expect(json.message).toContain('/.well-known/jwks.json')
  }
})

describe(`other algorithms and parameters are refused without any work: ${fault(125)}`, () => {
  test.each(
    [
      { alg: 'dir' },
      { alg: 'none' },
      { alg: 'ECDH-ES+A256KW' },
      { alg: 'RSA1_5' },
      { alg: 'RSA-OAEP-256' },
      { alg: 'A256GCMKW' },
      { alg: 'PBES2-HS256+A128KW', p2c: 1e9, p2s: 'AAAAAAAAAAAAAAAAAAAAAA' },
      { p2c: 1e9 },
      { enc: 'A128GCM' },
      { enc: 'A256CBC-HS512' },
      { enc: 'none' },
      { zip: 'DEF' },
      { crit: ['exp'], exp: 0 },
      { crit: [] },
      { jku: 'https://attacker.example/keys' },
      { x5u: 'https://attacker.example/chain' },
      { jwk: {} },
      { apu: 'QQ' },
      { apv: 'QQ' },
      { iss: 'somebody' },
    ].map((header) => [JSON.stringify(header), header] as const),
  )('%s', async (_name, header) => {
    await using app = await createTestApp()
    const { seal, get } = await messagesFor(app)
    const reply = await get(PROFILE, seal({ header }))
    expect([reply.status, reply.text]).toEqual([400, JSON.stringify(INVALID)])
  })
})

test(`refuses invalid keys and keys on other curves ${fault(126)}`, async () => {
  await using app = await createTestApp()
  const { seal, get } = await messagesFor(app)
  const p256 = { kty: 'EC', crv: 'P-256' }
  const [zero, ones] = [Buffer.alloc(32), Buffer.alloc(32, 255)].map((b) => b.toString('base64url'))
  const keys = [
    { ...p256, x: zero, y: zero },
    { ...p256, x: ones, y: ones },
    { ...p256, x: zero, y: ones },
    { ...p256, x: 'AQ', y: 'AQ' },
    { ...p256, x: zero },
    { ...p256 },
    { kty: 'EC', crv: 'P-384', x: zero, y: zero },
    createPublicKey('P-384'),
    createPublicKey('P-521'),
    { kty: 'OKP', crv: 'X25519', x: zero },
    { kty: 'oct', k: zero },
    { kty: 'RSA', n: zero, e: 'AQAB' },
    'text',
    null,
    [],
    undefined,
  ]
  for (const epk of keys) {
    const reply = await get(PROFILE, withHeader(seal({}), { epk }))
    expect([epk, reply.status, reply.text]).toEqual([epk, 400, JSON.stringify(INVALID)])
  }
})

test(`refuses a message with a point on another curve ${fault(126)}`, async () => {
  await using app = await createTestApp()
  // Without a check that (x, 0) is on the curve, doubling the point gives infinity, so an odd private key
  // times the point is the point itself: the agreed secret is x, which the attacker knows.
  const isOdd = () => {
    const d = Buffer.from(app.services.encryptionKeys.list()[0]?.jwk.d ?? '', 'base64url')
    return ((d.at(-1) ?? 0) & 1) === 1
  }
  while (!isOdd()) await app.services.encryptionKeys.rotate(true)
  const { get, headOf, publicKey } = await messagesFor(app)
  const x = randomBytes(32)
  const point = { kty: 'EC', crv: 'P-256', x: x.toString('base64url') }
  const epk = { ...point, y: Buffer.alloc(32).toString('base64url') }
  const header = { alg: 'ECDH-ES', enc: 'A256GCM', kid: publicKey.kid, typ: 'req+jwe', epk }
  const message = { header, plaintext: Buffer.from(headOf({})), iv: randomBytes(12) }
  const reply = await get(PROFILE, sealWithSharedKey(message, deriveKey(x)))
  expect([reply.status, reply.text]).toEqual([400, JSON.stringify(INVALID)])
})

test(`accepts a message up to 300 seconds before or after its time ${fault(128)}`, async () => {
  await using app = await createTestApp()
  const { seal, get } = await messagesFor(app)
  const now = Math.floor(app.clock.now.getTime() / 1000)
  const answerAt = async (iat: number) => {
    const { status, json } = await get('/api/user/content_version/v1', seal({ head: { iat, htu } }))
    return [status, json?.code ?? 'sealed', json?.message ?? '']
  }
  const htu = '/api/user/content_version/v1'
  expect(await answerAt(now - 300)).toEqual([200, 'sealed', ''])
  expect(await answerAt(now + 300)).toEqual([200, 'sealed', ''])
  for (const iat of [now - 301, now + 301, 0, 2 ** 40]) {
    const [status, code, message] = await answerAt(iat)
    expect([status, code]).toEqual([400, 'encryption_stale'])
    expect(message).toContain(app.clock.now.toISOString())
  }
})

function changeCharacter(part: string): string {
  if (part === '') return ALPHABET.charAt(randomInt(64))
  const at = randomInt(part.length)
  const others = ALPHABET.replace(part.charAt(at), '')
  return part.slice(0, at) + others.charAt(randomInt(63)) + part.slice(at + 1)
}

function namesAnotherKey(header: string, kid: string): boolean {
  try {
    const bytes = Uint8Array.fromBase64(header, { alphabet: 'base64url' })
    const parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof parsed === 'object' && parsed.kid !== kid
  } catch {
    return false
  }
}

function createPublicKey(namedCurve: string): object {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve })
  return publicKey.export({ format: 'jwk' })
}

function headerOf(message: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(message.split('.')[0] ?? '', 'base64url').toString())
}

function withHeader(message: string, changes: object): string {
  const [, ...rest] = message.split('.')
  return [toBase64Url(JSON.stringify({ ...headerOf(message), ...changes })), ...rest].join('.')
}

function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
