import type { AccountSecurity } from '../accounts/account-security.ts'
import type { SignInMethods } from '../accounts/sign-in-methods.ts'
import type { SignUp } from '../accounts/sign-up.ts'
import type { KnownOrigins } from '../credentials/known-origins.ts'
import type { OneTimeTokens } from '../credentials/one-time-tokens.ts'
import type { OwnerProof } from '../credentials/owner-proof.ts'
import type { PasswordProof } from '../credentials/password-proof.ts'
import type { EmailAddresses } from '../email/email-addresses.ts'
import type { Notices } from '../email/notices.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SignIn } from '../sessions/sign-in.ts'
import type { TwoFactor } from '../two-factor/two-factor.ts'
import type { UsersContext } from './context.ts'

/** What the ways to sign in share. The services that are its members do not import this file. */
export type SignInContext = UsersContext & {
  oneTimeTokens: OneTimeTokens
  notices: Notices
  accountSecurity: AccountSecurity
  addresses: EmailAddresses
  knownOrigins: KnownOrigins
  signInMethods: SignInMethods
  signUp: SignUp
  twoFactor: TwoFactor
  sessions: Sessions
  signIn: SignIn
  proof: PasswordProof
  ownerProof: OwnerProof
}
