import { type Static, t } from 'elysia'
import { type ActiveSubscription, filterCharged } from '../../../lib/active-subscriptions.ts'
import {
  closedObject,
  flag,
  id,
  integer,
  Message,
  message,
  nullable,
  openEnum,
  text,
} from '../../../platform/http/replies/envelope.ts'

const nullableText = (maxLength: number, description: string, example: string | null) =>
  t.Union([t.String({ maxLength }), t.Null()], {
    error: `must be text of at most ${maxLength} characters, or null`,
    description,
    examples: [example],
  })

/** A merge patch (RFC 7396): absent fields stay, `null` restores the default. */
export const ProfilePatch = closedObject({
  profile: t.Optional(
    t.Union(
      [
        closedObject(
          {
            name: t.Optional(nullableText(100, 'up to 100 characters; null clears it', 'Ann')),
            locale: t.Optional(
              nullableText(35, 'BCP 47; null takes it from the request headers', 'pt-BR'),
            ),
            timezone: t.Optional(
              nullableText(
                64,
                'IANA, in upper or lower case, or an offset; null takes it from the request headers',
                'Europe/Berlin',
              ),
            ),
            currency: t.Optional(
              nullableText(3, 'ISO 4217, in upper or lower case; null restores usd', 'EUR'),
            ),
            avatarKey: t.Optional(
              // An invented key would be refused when examples are tried.
              nullableText(64, 'the key of one of the user’s public images; null removes it', null),
            ),
          },
          'ProfileChanges',
          'absent fields stay; null restores every default',
        ),
        t.Null(),
      ],
      { description: 'absent fields stay; null restores every default' },
    ),
  ),
  onboardingCompleted: t.Optional(
    t.Union([t.Boolean(), t.Null()], {
      error: 'must be true, false or null',
      description: 'null restores false',
      examples: [true],
    }),
  ),
})
export type ProfilePatch = Static<typeof ProfilePatch>

export const UserProfile = closedObject(
  {
    _id: id('of the user: pass it to the billing SDK as the app user id'),
    loginType: openEnum(['email', 'google', 'apple', 'oidc', 'passkey', 'guest'], {
      description: 'how the account was created',
    }),
    email: text('as entered; empty for a guest', 'ann@example.com'),
    emailVerified: flag('whether the address is verified'),
    profile: closedObject(
      {
        name: text('empty until it is set', 'Ann'),
        locale: text('BCP 47, such as `pt-BR`', 'en'),
        timezone: t.String({
          description: 'IANA name such as `Europe/Berlin`, `utc`, or an offset such as `+05:30`',
          examples: ['Europe/Berlin'],
        }),
        currency: text('ISO 4217 in lower case, such as `usd`', 'usd'),
        avatarUrl: nullable(
          t.String({
            description: 'the user’s avatar; null for none',
            examples: ['https://api.example.com/files/k3v9qw1x5c7b2n4m6j8h0g1f3d.webp'],
          }),
        ),
      },
      'Profile',
      'the fields that the user can change',
    ),
    twoFactor: closedObject(
      {
        enabled: flag('whether two-factor authentication is on', false),
        methods: t.Array(
          openEnum(['totp', 'recovery_code'], { description: 'a two-factor method' }),
          {
            description: 'the accepted two-factor methods; empty while two-factor is off',
            examples: [[]],
          },
        ),
        recoveryCodesLeft: integer({
          description: 'recovery codes not used yet',
          examples: [0],
        }),
      },
      'TwoFactorState',
      'the state of two-factor authentication',
    ),
    onboardingCompleted: flag('stored for the app'),
  },
  'UserProfile',
  'a user',
)
export type UserProfile = Static<typeof UserProfile>

const DELETED = 'The account and everything in it have been deleted.'
const STILL_CHARGED = `${DELETED} The store keeps charging for your subscription until you cancel it there.`

const GOOGLE_PAGE = 'https://play.google.com/store/account/subscriptions'

const Subscription = closedObject(
  {
    store: nullable(text('the store', 'APP_STORE')),
    productId: nullable(text('the product at the store', 'prod_example_pro')),
    expiresAt: nullable(text('when the period ends, ISO 8601', '2026-12-01T12:00:00.000Z')),
    willRenew: flag('whether the store keeps charging'),
    managementUrl: nullable(text('where to cancel; null: where it was bought', GOOGLE_PAGE)),
  },
  'ActiveSubscription',
  'a subscription that continues at its store',
)

const description = 'subscriptions that continue at their stores; absent if there are none'
export const DeletionReply = closedObject(
  {
    ...Message.properties,
    activeSubscriptions: t.Optional(t.Array(Subscription, { description })),
  },
  'AccountDeletion',
  'the response to the deletion of an account',
)

export function deletionReply(activeSubscriptions: ActiveSubscription[]) {
  if (activeSubscriptions.length === 0) return message(DELETED)
  const isCharged = filterCharged(activeSubscriptions).length > 0
  return { ...message(isCharged ? STILL_CHARGED : DELETED), activeSubscriptions }
}
