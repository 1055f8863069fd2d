import { t } from 'elysia'
import { PLATFORMS } from '../../../lib/app-platforms.ts'
import {
  closedObject,
  flag,
  nullable,
  openEnum,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import { PURPOSES } from '../credentials/one-time-tokens.ts'
import { DevicesReply } from '../model.ts'
import { PasskeyReply } from '../passkeys/model.ts'
import { UserProfile } from '../profile/model.ts'

const device = text('the name that the device sends', 'Pixel 9')
const email = (description: string) => nullable(text(description, 'ann@example.com'))

export const userExport = {
  user: UserProfile,
  account: closedObject(
    {
      createdAt: time('when the account was created'),
      updatedAt: time('when it was last changed'),
      emailVerifiedAt: nullable(time('when the address was verified; null if it is not')),
      twoFactorSince: nullable(time('when two-factor was turned on; null if it is off')),
      hasPassword: flag('whether the user can sign in with a password'),
      lastSeenAt: nullable(
        time(
          'when the user last signed in or refreshed the session, to the day (UTC); null: never',
        ),
      ),
      platform: nullable(
        openEnum(PLATFORMS, { description: 'the platform of the app' }),
        'the platform of the app that was used last; null if unknown',
      ),
      country: nullable(
        text('a country code', 'BR'),
        'the country of the last sign-in or refresh; null if unknown',
      ),
    },
    'ExportedAccount',
    'dates of the account, and where it was used last',
  ),
  identities: t.Array(
    closedObject(
      {
        provider: openEnum(['google', 'apple', 'oidc'], { description: 'the identity provider' }),
        subject: text(
          'the id of the user at the provider, for `oidc` after the issuer and a space',
          '110169484474386276334',
        ),
        email: email('the address that the provider sent; null if it sent none'),
        holdsGrant: flag('whether a grant is stored; deleting the account revokes it', false),
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
  notes: t.Array(
    closedObject(
      {
        _id: text('the id of the note', '0198c1f0-…'),
        text: text('the note', 'asked for a refund'),
        author: nullable(text('the operator; null for a command', 'ann')),
        createdAt: time('when it was written'),
      },
      'ExportedNote',
      'a note of an operator on the user',
    ),
    { description: 'notes of operators on the user' },
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
