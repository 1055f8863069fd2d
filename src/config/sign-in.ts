import type { SettingsReader } from './define-setting.ts'
import { hasNoSpaces, isHostName, isSecureInTransit, list, nonEmpty } from './values.ts'

const MAX_PER_IP = 1_000_000
const CLIENT_IDS = 'client ids, separated by commas'

/** The settings of passwords and identity providers. */
export function readSignIn({ read, optional, all, choice, integer }: SettingsReader) {
  return {
    /** Who may create an account: everyone, users with an invitation, or only operators and servers. */
    signUp: choice('SIGN_UP', ['on', 'invite', 'off'], 'on'),
    /** Whether the app must send the nonce of every id token. */
    socialNonce: choice('SOCIAL_NONCE', ['optional', 'required'], 'optional'),
    googleClientIds: all('GOOGLE_CLIENT_IDS', CLIENT_IDS, hasNoSpaces),
    appleClientIds: all('APPLE_CLIENT_IDS', CLIENT_IDS, hasNoSpaces),
    appleTeamId: optional('APPLE_TEAM_ID', 'a team id', nonEmpty),
    appleKeyId: optional('APPLE_KEY_ID', 'a key id', nonEmpty),
    applePrivateKey: optional('APPLE_PRIVATE_KEY', 'a private key in PEM', (text) =>
      text.includes('PRIVATE KEY') ? text.replaceAll('\\n', '\n') : undefined,
    ),
    /** The OpenID Connect provider, spelled as in its tokens. */
    oidcIssuer: optional(
      'OIDC_ISSUER',
      'an https URL (http on loopback) without a query, spelled as the provider does',
      issuer,
    ),
    oidcClientIds: all('OIDC_CLIENT_IDS', CLIENT_IDS, hasNoSpaces),
    /** The provider's name for users; null for the host of its URL. */
    oidcName: optional('OIDC_NAME', 'a name on a single line', (text) =>
      /^[^\p{C}]{1,100}$/u.test(text) ? text : undefined,
    ),
    /** The provider owns all addresses at these domains. */
    oidcEmailDomains: read<string[]>(
      'OIDC_EMAIL_DOMAINS',
      [],
      'domains such as example.com, separated by commas',
      (text) => list(text.toLowerCase(), isHostName),
    ),
    /** How many attempts one IP address has: sign-ins in five minutes, the others in an hour. */
    perIp: {
      failures: integer('SIGN_IN_FAILURES_PER_IP', 100, 1, MAX_PER_IP),
      registrations: integer('REGISTRATIONS_PER_IP', 100, 1, MAX_PER_IP),
      guests: integer('GUESTS_PER_IP', 100, 1, MAX_PER_IP),
      mails: integer('MAILS_PER_IP', 30, 1, MAX_PER_IP),
    },
    passwordMinLength: integer('PASSWORD_MIN_LENGTH', 8, 8, 256),
    passwordHashing: choice('PASSWORD_HASHING', ['standard', 'strong'], 'standard'),
  }
}

/** Errors for settings of identity providers that are each valid but contradict one another. */
export function signInContradictions(
  settings: ReturnType<typeof readSignIn>,
): [isFault: boolean, message: string][] {
  const apple = [settings.appleTeamId, settings.appleKeyId, settings.applePrivateKey]
  return [
    [
      apple.some((part) => part !== null) && apple.includes(null),
      'APPLE_TEAM_ID, APPLE_KEY_ID and APPLE_PRIVATE_KEY must be set together',
    ],
    [
      (settings.oidcIssuer === null) !== (settings.oidcClientIds.length === 0),
      'OIDC_ISSUER and OIDC_CLIENT_IDS must be set together',
    ],
  ]
}

/** Keeps the spelling, because tokens must name exactly the same issuer. */
function issuer(text: string): string | undefined {
  const url = URL.parse(text)
  const isPlain = url !== null && url.username === '' && !/[?#]/.test(text)
  return isPlain && hasNoSpaces(text) && isSecureInTransit(url) ? text : undefined
}
