import { type Static, t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  flag,
  id,
  integer,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import type { Account } from '../accounts/accounts.ts'
import { ProfilePatch, UserProfile } from '../profile/model.ts'

export const serverUserTags = {
  Users: 'the app’s users',
  Tokens: 'access tokens of the app’s users',
}

const { _id, loginType, email, emailVerified, profile, onboardingCompleted } =
  UserProfile.properties

export const ServerUser = closedObject(
  {
    _id,
    loginType,
    email,
    emailVerified,
    profile,
    onboardingCompleted,
    createdAt: time('when the account was created'),
    updatedAt: time('when it was last changed'),
  },
  'ServerUser',
  'a user',
)
type ServerUser = Static<typeof ServerUser>

/** `baseUrl`: the base of file URLs. */
export function toServerUser(account: Account, baseUrl: string): ServerUser {
  const { name, locale, timezone, currency, avatarKey, createdAt, updatedAt } = account
  const avatarUrl = avatarKey && `${baseUrl}/files/${avatarKey}`
  return {
    _id: account.id,
    loginType: account.loginType,
    email: account.email ?? '',
    emailVerified: account.emailVerifiedAt !== null,
    profile: { name, locale, timezone, currency, avatarUrl },
    onboardingCompleted: account.onboardingCompleted,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }
}

const USER_ID = '01a1fecb-4162-75f8-b13e-d84fd1f88be2'
const verified = flag('whether the address is verified')

export const UsersQuery = closedObject({
  email: t.Optional(
    text('only the user with this address, in upper or lower case', 'ann@example.com', {
      maxLength: 254,
    }),
  ),
  limit: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: 500,
      default: 50,
      description: 'the maximum number of users to return',
      examples: [50],
    }),
  ),
  after: t.Optional(text('`next` from the previous page', USER_ID, { maxLength: 100 })),
})

export const ServerUserReply = createDataSchema(ServerUser)
export const ServerUsersReply = closedObject({
  ...createDataSchema(t.Array(ServerUser)).properties,
  next: t.Optional(text('`after` for the next page; absent on the last page', USER_ID)),
})

export const NewServerUser = closedObject({
  email: text('an e-mail address that no user has yet', 'ann@example.com', { maxLength: 254 }),
  password: t.Optional(
    text('absent: the user sets one with “forgot password”', 'correct horse battery', {
      maxLength: 256,
    }),
  ),
  emailVerified: t.Optional(verified),
  name: t.Optional(text('the user’s name', 'Ann', { maxLength: 100 })),
  locale: t.Optional(text('BCP 47; en if absent', 'pt-BR', { maxLength: 35 })),
  timezone: t.Optional(
    text('IANA, or an offset; utc if absent', 'Europe/Berlin', { maxLength: 64 }),
  ),
})

export const ServerUserPatch = closedObject({
  ...ProfilePatch.properties,
  emailVerified: t.Optional(verified),
})

export const SignedOutReply = createDataSchema(
  closedObject(
    { ended: integer({ description: 'the number of sessions that ended', examples: [2] }) },
    'SignedOut',
    'the sessions that ended',
  ),
)

/** RFC 7662, §2.1. */
export const IntrospectionRequest = t.Object({
  token: text('the access token to check', 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9…', {
    maxLength: 4_000,
  }),
  token_type_hint: t.Optional(text('ignored', 'access_token', { maxLength: 100 })),
  client_id: t.Optional(text('ignored', 'ai-endpoint')),
  client_secret: t.Optional(text('the API key, instead of a header', 'hp_…')),
})

/** RFC 7662, §2.2: an inactive token has no other member. */
export const Introspection = closedObject(
  {
    active: flag('whether the token is valid and its session has not ended'),
    sub: t.Optional(id('of the user')),
    sid: t.Optional(id('of the session')),
    token_type: t.Optional(text('`Bearer`', 'Bearer')),
    iss: t.Optional(text('the issuer', 'https://api.example.com')),
    aud: t.Optional(text('the audience', 'homeport')),
    iat: t.Optional(
      integer({ format: 'int64', description: 'issued, s since 1970', examples: [1_783_000_000] }),
    ),
    exp: t.Optional(
      integer({ format: 'int64', description: 'expires, s since 1970', examples: [1_783_000_900] }),
    ),
  },
  'Introspection',
  'the state of an access token (RFC 7662)',
)
