import { t } from 'elysia'
import { PasskeyAssertion, PasskeyAttestation } from '../../../platform/http/passkey-models.ts'
import {
  closedObject,
  flag,
  integer,
  literalUnion,
  nullable,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import { SecondFactor } from '../model.ts'

const name = t.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\x00-\\x1f]+$',
  error: 'must have 1 to 100 characters',
  description: 'a name by which the user recognizes the passkey',
  examples: ['Ann’s iPhone'],
})
const passkeyId = text('the id of the passkey', 'kq3v9Qw1x5c7B2n4M6j8H0', { maxLength: 2_000 })
const challenge = text('bytes to sign, base64url', 'Zk3v9Qw1x5c7B2n4M6j8H0')
const timeout = integer({ description: 'milliseconds for the user to answer', examples: [60_000] })
const publicKey = literalUnion(['public-key'], { description: 'the kind of credential' })
const required = literalUnion(['required'], { description: 'the passkey must support it' })

export const RegistrationBody = closedObject({
  password: t.Optional(
    text('needed if the user signed in more than ten minutes ago', 'correct horse battery', {
      maxLength: 256,
    }),
  ),
  code: SecondFactor,
})
export const AddPasskeyBody = closedObject({
  credential: PasskeyAttestation,
  name: t.Optional(name),
})
export const RenamePasskeyBody = closedObject({ id: passkeyId, name })
export const PasskeyQuery = t.Object({ id: passkeyId, code: SecondFactor })
export const PasskeySignInBody = closedObject({ credential: PasskeyAssertion })

export const CreationOptions = closedObject(
  {
    challenge,
    rp: closedObject(
      {
        id: text('the host that the passkey is bound to', 'example.com'),
        name: text('the name of the app', 'Notes'),
      },
      'PasskeyRelyingParty',
      'the app',
    ),
    user: closedObject(
      {
        id: text('the id of the user, base64url', 'MDFhMWZlY2I'),
        name: text('the name that the device shows', 'ann@example.com'),
        displayName: text('the name of the user; may be empty', 'Ann'),
      },
      'PasskeyUser',
      'the user',
    ),
    pubKeyCredParams: t.Array(
      closedObject(
        { alg: integer({ description: 'a COSE algorithm', examples: [-7] }), type: publicKey },
        'PasskeyAlgorithm',
        'a signature algorithm',
      ),
      { description: 'the accepted algorithms, best first' },
    ),
    timeout,
    attestation: literalUnion(['none'], { description: 'no attestation is requested' }),
    excludeCredentials: t.Array(
      closedObject({ id: passkeyId, type: publicKey }, 'KnownPasskey', 'a passkey of the user'),
      {
        description: 'the user’s passkeys: a device that has one of them refuses to create another',
      },
    ),
    authenticatorSelection: closedObject(
      {
        residentKey: required,
        requireResidentKey: flag('the same, for old devices'),
        userVerification: required,
      },
      'PasskeyRequirements',
      'what the device must support',
    ),
  },
  'PasskeyCreationOptions',
  'the options for `navigator.credentials.create`, as JSON for `PublicKeyCredential.parseCreationOptionsFromJSON`',
)

export const RequestOptions = closedObject(
  {
    challenge,
    rpId: text('the host that the passkey is bound to', 'example.com'),
    timeout,
    userVerification: required,
  },
  'PasskeyRequestOptions',
  'the options for `navigator.credentials.get`, as JSON for `PublicKeyCredential.parseRequestOptionsFromJSON`',
)

export const PasskeyReply = closedObject(
  {
    _id: passkeyId,
    name,
    createdAt: time('when it was added'),
    lastUsedAt: nullable(
      time('when it was last used', null),
      'when it was last used; null for never',
    ),
  },
  'Passkey',
  'a passkey of the user',
)
