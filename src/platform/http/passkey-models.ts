import { t } from 'elysia'
import { text } from './replies/envelope.ts'

const bytes = (description: string) =>
  t.String({
    maxLength: 20_000,
    pattern: '^[A-Za-z0-9_-]*$',
    description: `${description}, base64url`,
    examples: ['oWNmbXRkbm9uZQ'],
  })

const passkeyParts = {
  id: bytes('the id of the passkey'),
  rawId: bytes('the same id'),
  // Text and an open object, as in the types of the browser's own result.
  type: t.String({
    pattern: '^public-key$',
    description: 'the kind of credential',
    examples: ['public-key'],
  }),
  authenticatorAttachment: t.Optional(text('where the passkey is', 'platform', { maxLength: 40 })),
  clientExtensionResults: t.Optional(
    t.Union([t.Object({}, { additionalProperties: true }), t.Null()], {
      description: 'the results of extensions',
      examples: [{}],
    }),
  ),
}
const clientDataJSON = bytes('what the device has signed')

/** The result of `navigator.credentials.create` as JSON (WebAuthn level 3, §5.1). */
export const PasskeyAttestation = t.Object(
  {
    ...passkeyParts,
    response: t.Object(
      {
        clientDataJSON,
        attestationObject: bytes('the new public key'),
        transports: t.Optional(
          t.Union([t.Array(t.String({ maxLength: 40 }), { maxItems: 20 }), t.Null()], {
            description: 'how the device can be reached; null if it does not say',
            examples: [['internal', 'hybrid']],
          }),
        ),
      },
      { additionalProperties: true, description: 'the response from the device' },
    ),
  },
  { description: 'the result of `navigator.credentials.create`: `credential.toJSON()`' },
)

/** The result of `navigator.credentials.get` as JSON. */
export const PasskeyAssertion = t.Object(
  {
    ...passkeyParts,
    response: t.Object(
      {
        clientDataJSON,
        authenticatorData: bytes('what the device says about itself'),
        signature: bytes('the signature'),
        userHandle: t.Optional(
          t.Union([bytes('the id of the user'), t.Null()], {
            description: 'the id of the user; null if the device does not name it',
          }),
        ),
      },
      { additionalProperties: true, description: 'the response from the device' },
    ),
  },
  { description: 'the result of `navigator.credentials.get`: `credential.toJSON()`' },
)
