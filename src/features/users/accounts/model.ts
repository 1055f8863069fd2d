import { t } from 'elysia'
import { closedObject, nullable, openEnum, time } from '../../../platform/http/envelope.ts'
import { PURPOSES } from '../credentials/one-time-tokens.ts'
import { DevicesReply } from '../model.ts'
import { PasskeyReply } from '../passkeys/model.ts'
import { UserProfile } from '../profile/model.ts'

const device = t.String({ description: 'the name that the device sends', examples: ['Pixel 9'] })
const email = (description: string) =>
  nullable(t.String({ description, examples: ['ann@example.com'] }))

/** Schemas of the members that this feature adds to a user's export. */
export const userExport = {
  user: UserProfile,
  account: closedObject(
    {
      createdAt: time('when the account was created'),
      updatedAt: time('when it was last changed'),
      emailVerifiedAt: nullable(time('when the address was verified; null if it is not')),
      twoFactorSince: nullable(time('when two-factor was turned on; null if it is off')),
      hasPassword: t.Boolean({
        description: 'whether the user can sign in with a password',
        examples: [true],
      }),
    },
    'ExportedAccount',
    'dates of the account',
  ),
  identities: t.Array(
    closedObject(
      {
        provider: openEnum(['google', 'apple', 'oidc'], { description: 'the identity provider' }),
        subject: t.String({
          description:
            'the id of the user at the provider, for `oidc` after the issuer and a space',
          examples: ['110169484474386276334'],
        }),
        email: email('the address that the provider sent; null if it sent none'),
        holdsGrant: t.Boolean({
          description: 'whether a grant is stored; deleting the account revokes it',
          examples: [false],
        }),
        createdAt: time('when it was linked'),
      },
      'ExportedIdentity',
      'a linked account of an identity provider',
    ),
    { description: 'linked accounts of identity providers' },
  ),
  passkeys: t.Array(PasskeyReply, { description: 'the passkeys, without their keys' }),
  sessions: DevicesReply,
  devices: t.Array(
    closedObject(
      { device, seenAt: time('when it last signed in') },
      'ExportedDevice',
      'a device that is or was signed in',
    ),
    { description: 'every device that has signed in' },
  ),
  pending: t.Array(
    closedObject(
      {
        purpose: openEnum(PURPOSES, { description: 'the purpose of the link or challenge' }),
        email: email('the address that it was sent to; null if none was recorded'),
        expiresAt: time('when it expires'),
      },
      'ExportedToken',
      'a link or a challenge that has not been used',
    ),
    { description: 'links and challenges that have not been used' },
  ),
}
