import { base64url, calculateJwkThumbprint, importJWK } from 'jose'
import { openReply, sealRequest } from '../../../src/client/sealing.ts'
import type { Command } from './protocol.ts'

type Seal = Extract<Command, { do: 'seal' }>
type Open = Extract<Command, { do: 'open' }>

export async function seal({ jwk, request, now }: Seal) {
  const key = { kid: await calculateJwkThumbprint(jwk), key: await importJWK(jwk, 'ECDH-ES') }
  const content = { ...request, body: decode(request.body) }
  const { message, expectation } = await sealRequest(content, key, now)
  return { message, jti: expectation.jti, replyKey: base64url.encode(expectation.replyKey) }
}

export async function open({ message, status, jti, replyKey }: Open) {
  const { body } = await openReply(message, status, { jti, replyKey: decode(replyKey) })
  return { body: base64url.encode(body) }
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(base64url.decode(text))
}
