import { describe, expect, test } from 'bun:test'
import { CRLDistributionPointsExtension, X509CertificateGenerator } from '@peculiar/x509'
import { SettingsService } from '@simplewebauthn/server'
import type { TestApp } from '../../support/app.ts'
import { createPasskey } from '../../support/passkey.ts'
import {
  addPasskey,
  createApp,
  creationOptions,
  ORIGIN,
  PASSKEY_PATH,
} from '../../support/passkey-requests.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
test('a device certificate does not make the server open a connection', async () => {
  await using app = await createApp()
  let requests = 0
  using crlServer = Bun.serve({ port: 0, fetch: () => new Response(String(++requests)) })
  const { root, leaf } = await createCertificates(`http://localhost:${crlServer.port}/crl`)
  SettingsService.setRootCertificates({ identifier: 'apple', certificates: [root] })
  const { accessToken } = await app.register()
  await add(app, accessToken, (response) => withCertificate(response, leaf))
  expect(requests).toBe(0)
})

describe('the transports of a new passkey', () => {
  test.each<[string, unknown, number]>([
    ['may be names', ['internal', 'hybrid'], 200],
    ['may be null', null, 200],
    ['must not be a string', 'internal', 422],
    ['must not contain numbers', [1], 422],
    ['must not contain long names', ['a'.repeat(1_000)], 422],
    ['must not contain many names', Array(1_000).fill('usb'), 422],
  ])('%s', async (_name, transports, status) => {
    await using app = await createApp()
    const { accessToken } = await app.register()
    const reply = await add(app, accessToken, (response) => ({ ...response, transports }))
    expect(reply.status).toBe(status)
  })
})

test.each([
  ['1023 bytes is accepted', 1023, 200],
  ['more bytes is refused', 1024, 401],
])('a passkey whose id has %s', async (_name, length, status) => {
  await using app = await createApp()
  const { accessToken } = await app.register()
  const { reply } = await addPasskey(app, accessToken, createPasskey(ORIGIN, length))
  expect(reply.status).toBe(status)
})

/** Adds a passkey, with a change to the device's response. */
async function add(
  app: TestApp,
  token: string,
  change: (response: Record<string, string>) => object,
) {
  const { json } = await creationOptions(app, token)
  const created = createPasskey(ORIGIN).register(json.response)
  const credential = { ...created, response: change(created.response) }
  return app.ask('POST', PASSKEY_PATH, { token, json: { credential } })
}

/** Replaces “no attestation” with Apple's, made with a certificate (CBOR, RFC 8949). */
function withCertificate({ attestationObject = '', ...response }, certificate: Buffer) {
  const none = Buffer.from('a363666d74646e6f6e656761747453746d74a0', 'hex')
  const apple = Buffer.from('a363666d74656170706c656761747453746d74a16378356381590000', 'hex')
  apple.writeUInt16BE(certificate.length, apple.length - 2)
  const rest = Buffer.from(attestationObject, 'base64url').subarray(none.length)
  const changed = Buffer.concat([apple, certificate, rest])
  return { ...response, attestationObject: changed.toString('base64url') }
}

/** Creates a root certificate, and a device certificate whose revocation list is at `crlUrl`. */
async function createCertificates(crlUrl: string) {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const root = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Root',
    keys,
    signingAlgorithm: ALGORITHM,
  })
  const leaf = await X509CertificateGenerator.create({
    subject: 'CN=Device',
    issuer: root.subject,
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [new CRLDistributionPointsExtension([crlUrl])],
  })
  return { root: root.toString('pem'), leaf: Buffer.from(leaf.rawData) }
}
