import { describe, expect, test } from 'bun:test'
import { randomBytes, randomFillSync } from 'node:crypto'
import { CompactEncrypt, importJWK } from 'jose'
import { openReply, sealRequest } from '../../../src/client/sealing.ts'
import { openRequest, sealReply } from '../../../src/platform/encryption/message.ts'
import { fault } from '../../support/fault.ts'
import {
  openWithPrivateKey,
  openWithSharedKey,
  sealToPublicKey,
  sealWithSharedKey,
} from '../../support/reference-jwe.ts'
import vectors from './payload-encryption.json' with { type: 'json' }

const { serverKey, requests, replies } = vectors
const { d: _private, ...publicKey } = serverKey
const findKey = async (kid: string) =>
  kid === serverKey.kid ? await importJWK(serverKey, 'ECDH-ES') : null
const keys = {
  find: findKey,
  findJwk: (kid: string) => (kid === serverKey.kid ? serverKey : null),
}

describe(`with fixed keys ${fault(134)}`, () => {
  test.each(requests)('$name: two implementations produce the same bytes', async (vector) => {
    const { ephemeralKey, header, jwe } = vector
    const [plaintext, iv] = [bytes(vector.plaintext), bytes(vector.iv)]
    expect(sealToPublicKey({ header, plaintext, iv }, publicKey, ephemeralKey)).toBe(jwe)
    expect(sealWithSharedKey({ header, plaintext, iv }, bytes(vector.contentKey))).toBe(jwe)
    const { epk: _generated, ...fixedHeader } = header
    const byJose = new CompactEncrypt(plaintext)
      .setProtectedHeader(fixedHeader)
      .setInitializationVector(iv)
      .setKeyManagementParameters({ epk: await importCryptoKey(ephemeralKey) })
    expect(await byJose.encrypt(await importJWK(publicKey, 'ECDH-ES'))).toBe(jwe)
  })

  test.each(requests)(
    '$name: the server and the reference implementation open it',
    async ({ jwe, ...vector }) => {
      const { header, plaintext } = openWithPrivateKey(jwe, serverKey)
      expect(plaintext.toString('base64url')).toBe(vector.plaintext)
      const { head, body, contentType } = await openRequest(jwe, keys)
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body])
      expect(content.toString('base64url')).toBe(vector.plaintext)
      expect(contentType).toBe((header['cty'] as string | undefined) ?? null)
    },
  )

  test.each(replies)(
    '$name: two implementations produce it, and the client opens it',
    async (vector) => {
      const { header, jwe, jti, status } = vector
      const [plaintext, iv] = [bytes(vector.plaintext), bytes(vector.iv)]
      const replyKey = bytes(vector.replyKey)
      expect(sealWithSharedKey({ header, plaintext, iv }, replyKey)).toBe(jwe)
      const byJose = new CompactEncrypt(plaintext)
        .setProtectedHeader(header)
        .setInitializationVector(iv)
      expect(await byJose.encrypt(replyKey)).toBe(jwe)
      expect(openWithSharedKey(jwe, replyKey).plaintext).toEqual(plaintext)
      const { body } = await openReply(jwe, status, { jti, replyKey })
      expect(plaintext.toString()).toEndWith(`\n${Buffer.from(body)}`)
    },
  )
})

test(`the client and the reference implementation open each other’s messages ${fault(134)}`, async () => {
  const server = { kid: serverKey.kid, key: await importJWK(publicKey, 'ECDH-ES') }
  for (const size of [0, 1, 2, 3, 1_000, 100_000]) {
    const body = randomFillSync(new Uint8Array(size))
    const content = { method: 'POST', target: '/x?y=1', token: 't', contentType: 'a/b', body }
    const { message, expectation } = await sealRequest(content, server, 1_795_168_800_000)
    const { plaintext } = openWithPrivateKey(message, serverKey)
    const end = plaintext.indexOf('\n')
    const head = JSON.parse(plaintext.subarray(0, end).toString())
    expect(Buffer.compare(plaintext.subarray(end + 1), body)).toBe(0)
    expect(head).toMatchObject({ v: 1, iat: 1_795_168_800, htm: 'POST', htu: '/x?y=1' })
    expect(bytes(head.rk)).toEqual(Buffer.from(expectation.replyKey))

    const sealed = await sealReply(head, { status: 200, body, contentType: 'a/b' }, new Date())
    expect(openWithSharedKey(sealed, bytes(head.rk)).plaintext.subarray(-size || Infinity)).toEqual(
      Buffer.from(body),
    )
    const line = JSON.stringify({ v: 1, jti: head.jti, status: 200, iat: 0 })
    const header = { alg: 'dir', enc: 'A256GCM', kid: head.jti, typ: 'res+jwe', cty: 'a/b' }
    const byHand = { header, plaintext: Buffer.from(`${line}\nhello`), iv: randomBytes(12) }
    const opened = await openReply(sealWithSharedKey(byHand, bytes(head.rk)), 200, expectation)
    expect([opened.contentType, Buffer.from(opened.body).toString()]).toEqual(['a/b', 'hello'])
  }
})

function bytes(text: string): Buffer<ArrayBuffer> {
  return Buffer.from(text, 'base64url')
}

async function importCryptoKey(jwk: object): Promise<CryptoKey> {
  return (await importJWK(jwk, 'ECDH-ES')) as CryptoKey
}
