import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** Values that a misbehaving device or page changes. */
type Overrides = {
  /** The origin that the page claims. */
  origin?: string
  /** The host that the passkey is created for. */
  host?: string
  /** Whether the device has verified its user. */
  isVerified?: boolean
  /** Another client's challenge. */
  challenge?: string
}

type Options = { challenge: string }

export type Passkey = ReturnType<typeof createPasskey>

const IS_PRESENT = 0x01
const IS_VERIFIED = 0x04
const HAS_KEY = 0x40

/**
 * A software authenticator (WebAuthn level 3, §6) that holds one ES256 passkey for a page at
 * `origin`. `idLength` is the length of its id in bytes.
 */
export function createPasskey(origin = 'http://localhost', idLength = 32) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credential = randomBytes(idLength)
  const id = credential.toString('base64url')
  let counter = 0
  return { id, register, authenticate }

  /** Answers `navigator.credentials.create`, with no attestation. */
  function register(options: Options, overrides: Overrides = {}) {
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const key = Buffer.concat([
      // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} of RFC 9053.
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ])
    const aaguid = Buffer.alloc(16)
    const length = Buffer.alloc(2)
    length.writeUInt16BE(credential.length)
    const data = Buffer.concat([
      authenticatorData(overrides, HAS_KEY),
      aaguid,
      length,
      credential,
      key,
    ])
    const attestationObject = Buffer.concat([
      // {fmt: 'none', attStmt: {}, authData: bytes}
      Buffer.from([0xa3, ...text('fmt'), ...text('none'), ...text('attStmt'), 0xa0]),
      Buffer.from([...text('authData'), 0x59, data.length >> 8, data.length & 0xff]),
      data,
    ])
    const clientDataJSON = clientData('webauthn.create', options, overrides)
    return encodeCredential({ clientDataJSON, attestationObject })
  }

  /** Answers `navigator.credentials.get`. */
  function authenticate(options: Options, overrides: Overrides = {}) {
    const clientDataJSON = clientData('webauthn.get', options, overrides)
    const data = authenticatorData(overrides, 0)
    const signed = Buffer.concat([data, sha256(clientDataJSON)])
    const signature = sign('sha256', signed, privateKey)
    return encodeCredential({ clientDataJSON, authenticatorData: data, signature })
  }

  function authenticatorData(
    { host = new URL(origin).hostname, isVerified = true }: Overrides,
    extraFlags = 0,
  ) {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(++counter)
    const flags = IS_PRESENT | (isVerified ? IS_VERIFIED : 0) | extraFlags
    return Buffer.concat([sha256(host), Buffer.from([flags]), count])
  }

  function clientData(type: string, options: Options, overrides: Overrides): Buffer {
    const defaults = { type, challenge: options.challenge, origin, crossOrigin: false }
    const { challenge = defaults.challenge, origin: claimed = defaults.origin } = overrides
    return Buffer.from(JSON.stringify({ ...defaults, challenge, origin: claimed }))
  }

  function encodeCredential(parts: Record<string, Buffer>) {
    const encoded = Object.entries(parts).map(([name, part]) => [name, part.toString('base64url')])
    return {
      id,
      rawId: id,
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(encoded) as Record<string, string>,
    }
  }
}

/** Encodes a text shorter than 24 bytes in CBOR (RFC 8949 §3.1). */
function text(value: string): number[] {
  return [0x60 + value.length, ...Buffer.from(value)]
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
