import { PasskeyAssertion, PasskeyAttestation } from '../../../platform/http/passkey-models.ts'
import { partOfExport, withDescription } from '../../../platform/http/replies/envelope.ts'
import { userExport } from '../accounts/model.ts'
import {
  DevicesReply,
  EmailCodeAnswerBody,
  EmailCodeReply,
  LoginBody,
  RecoveryCodesReply,
  RegisterBody,
  SessionReply,
  SocialBody,
  TwoFactorChallenge,
  TwoFactorReply,
} from '../model.ts'
import { CreationOptions, PasskeyReply, RequestOptions } from '../passkeys/model.ts'
import { DeletionReply, ProfilePatch, UserProfile } from '../profile/model.ts'

const { passkeys, ...accountExport } = userExport

export const userClientModels = {
  AccountExport: partOfExport(accountExport, 'the account'),
  ActiveSubscription: DeletionReply.properties.activeSubscriptions.items,
  Credentials: withDescription(LoginBody, 'e-mail address and password for a sign-in'),
  Device: DevicesReply.items,
  EmailCodeAnswer: withDescription(EmailCodeAnswerBody, 'the code that the user has entered'),
  EmailCodeRequest: EmailCodeReply,
  NewAccount: withDescription(RegisterBody, 'the data for a new account'),
  Passkey: PasskeyReply,
  PasskeyAssertion,
  PasskeyAttestation,
  PasskeyCreationOptions: CreationOptions,
  PasskeyExport: partOfExport({ passkeys }, 'the passkeys'),
  PasskeyRequestOptions: RequestOptions,
  ProfileChanges: withDescription(ProfilePatch, 'absent fields stay; null restores the default'),
  RecoveryCodes: RecoveryCodesReply,
  Session: SessionReply,
  SocialLogin: withDescription(SocialBody, 'the data for a sign-in with an identity provider'),
  TwoFactorChallenge,
  TwoFactorSetup: TwoFactorReply,
  UserProfile,
}
