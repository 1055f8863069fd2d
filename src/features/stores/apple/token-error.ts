import type { DenialReason } from '../../../lib/errors.ts'

/** Only the fault `other_app` means that Apple has signed the token. */
type AppleTokenFault = DenialReason | 'other_app'

/** Why a token that claims to come from Apple is refused. */
export class AppleTokenError extends Error {
  readonly fault: AppleTokenFault

  constructor(fault: AppleTokenFault) {
    super(`the token is refused: ${fault}`)
    this.name = 'AppleTokenError'
    this.fault = fault
  }
}
