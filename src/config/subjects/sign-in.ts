import { choice, integer, listKind, setting, text, type ValuesOf, value } from '../setting.ts'
import { hasNoSpaces, isHostName, isSecureInTransit, list } from '../values.ts'
import { ONE_LINE } from './app.ts'

const perIp = (fallback: number) => integer(1, 1_000_000, fallback)
const CLIENT_IDS = listKind('client ids', hasNoSpaces)

export const signInSettings = {
  signUp: setting(
    'SIGN_UP',
    choice(['on', 'invite', 'off'], 'on'),
    '`on`: anyone can sign up; `invite`: only users invited with `homeport users invite`; `off`: only operators and servers create accounts',
  ),
  passwordMinLength: setting(
    'PASSWORD_MIN_LENGTH',
    integer(8, 256, 8),
    'the minimum length of passwords',
  ),
  passwordHashing: setting(
    'PASSWORD_HASHING',
    choice(['standard', 'strong'], 'standard'),
    '`strong` hashes with 64 MiB of memory instead of 19 MiB, for five times the CPU time; existing hashes are replaced at the next sign-in',
  ),
  googleClientIds: setting(
    'GOOGLE_CLIENT_IDS',
    CLIENT_IDS,
    'the app’s client ids at Google, separated by commas; without them, that sign-in method is off',
    { page: 'sign-in.md' },
  ),
  appleClientIds: setting('APPLE_CLIENT_IDS', CLIENT_IDS, 'the same at Apple'),
  appleTeamId: setting(
    'APPLE_TEAM_ID',
    text('a team id'),
    'with the next two, deleting an account revokes its Apple sign-in',
  ),
  appleKeyId: setting('APPLE_KEY_ID', text('a key id'), 'the id of the key for Sign in with Apple'),
  applePrivateKey: setting(
    'APPLE_PRIVATE_KEY',
    value('a private key in PEM', (given) =>
      given.includes('PRIVATE KEY') ? given.replaceAll('\\n', '\n') : undefined,
    ),
    'the private key for Sign in with Apple',
  ),
  socialNonce: setting(
    'SOCIAL_NONCE',
    choice(['optional', 'required'], 'optional'),
    '`required`: a sign-in with a provider must send the nonce of its id token',
    { page: 'sign-in.md#nonces' },
  ),
  oidcIssuer: setting(
    'OIDC_ISSUER',
    value('an https URL (http on loopback) without a query, spelled as the provider does', issuer),
    'an OpenID Connect provider, spelled as in its tokens: `https://login.acme.example`',
    { page: 'sign-in.md' },
  ),
  oidcClientIds: setting('OIDC_CLIENT_IDS', CLIENT_IDS, 'the app’s client ids there'),
  oidcName: setting(
    'OIDC_NAME',
    text('a name on a single line', ONE_LINE),
    'the provider’s name in e-mails',
    { shown: 'the issuer’s host' },
  ),
  oidcEmailDomains: setting(
    'OIDC_EMAIL_DOMAINS',
    value(
      'domains such as example.com, separated by commas',
      (given) => list(given.toLowerCase(), isHostName),
      [],
    ),
    'domains whose addresses the provider owns: a verified address there opens the account that has it',
  ),
  signInFailuresPerIp: setting(
    'SIGN_IN_FAILURES_PER_IP',
    perIp(100),
    'failed sign-ins in 5 minutes from one IP address, for each way to sign in; raise it and the next three where many users share an address, as in schools and mobile networks',
  ),
  registrationsPerIp: setting(
    'REGISTRATIONS_PER_IP',
    perIp(100),
    'new accounts an hour from one IP address',
  ),
  guestsPerIp: setting('GUESTS_PER_IP', perIp(100), 'new guests an hour from one IP address'),
  mailsPerIp: setting(
    'MAILS_PER_IP',
    perIp(30),
    'e-mails an hour that one IP address can request: codes, and the others together',
  ),
}

export function signInContradictions(settings: ValuesOf<typeof signInSettings>) {
  const apple = [settings.appleTeamId, settings.appleKeyId, settings.applePrivateKey]
  return [
    apple.some((part) => part !== null) &&
      apple.includes(null) &&
      'APPLE_TEAM_ID, APPLE_KEY_ID and APPLE_PRIVATE_KEY must be set together',
    (settings.oidcIssuer === null) !== (settings.oidcClientIds.length === 0) &&
      'OIDC_ISSUER and OIDC_CLIENT_IDS must be set together',
  ]
}

/** Keeps the spelling, because tokens must name exactly the same issuer. */
function issuer(given: string): string | undefined {
  const url = URL.parse(given)
  const isPlain = url !== null && url.username === '' && !/[?#]/.test(given)
  return isPlain && hasNoSpaces(given) && isSecureInTransit(url) ? given : undefined
}
