import { type Static, t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  id,
  integer,
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
const verified = t.Boolean({
  description: 'whether the address is verified',
  examples: [true],
})

export const UsersQuery = closedObject({
  email: t.Optional(
    t.String({
      maxLength: 254,
      description: 'only the user with this address, in upper or lower case',
      examples: ['ann@example.com'],
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
  after: t.Optional(
    t.String({
      maxLength: 100,
      description: '`next` from the previous page',
      examples: [USER_ID],
    }),
  ),
})

export const ServerUserReply = createDataSchema(ServerUser)
export const ServerUsersReply = closedObject({
  ...createDataSchema(t.Array(ServerUser)).properties,
  next: t.Optional(
    t.String({
      description: '`after` for the next page; absent on the last page',
      examples: [USER_ID],
    }),
  ),
})

export const NewServerUser = closedObject({
  email: t.String({
    maxLength: 254,
    description: 'an e-mail address that no user has yet',
    examples: ['ann@example.com'],
  }),
  password: t.Optional(
    t.String({
      maxLength: 256,
      description: 'absent: the user sets one with “forgot password”',
      examples: ['correct horse battery'],
    }),
  ),
  emailVerified: t.Optional(verified),
  name: t.Optional(t.String({ maxLength: 100, description: 'the user’s name', examples: ['Ann'] })),
  locale: t.Optional(
    t.String({ maxLength: 35, description: 'BCP 47; en if absent', examples: ['pt-BR'] }),
  ),
  timezone: t.Optional(
    t.String({
      maxLength: 64,
      description: 'IANA, or an offset; utc if absent',
      examples: ['Europe/Berlin'],
    }),
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
  token: t.String({
    maxLength: 4_000,
    description: 'the access token to check',
    examples: ['eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9…'],
  }),
  token_type_hint: t.Optional(
    t.String({ maxLength: 100, description: 'ignored', examples: ['access_token'] }),
  ),
  client_id: t.Optional(t.String({ description: 'ignored', examples: ['ai-endpoint'] })),
  client_secret: t.Optional(
    t.String({ description: 'the API key, instead of a header', examples: ['hp_…'] }),
  ),
})

/** RFC 7662, §2.2: an inactive token has no other member. */
export const Introspection = closedObject(
  {
    active: t.Boolean({
      description: 'whether the token is valid and its session has not ended',
      examples: [true],
    }),
    sub: t.Optional(id('of the user')),
    sid: t.Optional(id('of the session')),
    token_type: t.Optional(t.String({ description: '`Bearer`', examples: ['Bearer'] })),
    iss: t.Optional(t.String({ description: 'the issuer', examples: ['https://api.example.com'] })),
    aud: t.Optional(t.String({ description: 'the audience', examples: ['homeport'] })),
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
