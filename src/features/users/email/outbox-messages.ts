import type { Outbox } from '../../../platform/outbox/outbox.ts'
import type { CodePurpose } from '../credentials/one-time-tokens.ts'
import type { MailKind } from './mail-texts.ts'

/**
 * Work to do after a commit. Forgotten passwords and sign-in codes are queued so that the reply takes as long for
 * unknown addresses as for known ones.
 */
type UserMessage =
  /** A mail to a user. `link` and `detail` fill it in; `page` is the same link for browsers. */
  | {
      kind: 'mail'
      mail: MailKind
      to: string
      locale: string
      link?: string
      page?: string
      detail?: string
    }
  /** A mail to the operators. */
  | { kind: 'alert'; to: string; subject: string; text: string }
  /** A request to reset a password. */
  | { kind: 'forgotten-password'; email: string; ip?: string }
  /** A request for a code. */
  | ({ kind: 'email-code' } & CodeMessage)
  /** A grant to revoke at Apple. */
  | { kind: 'apple-revocation'; clientId: string; token: string }

/** `until`: when the code expires, in ms. Messages of earlier builds have no `purpose`, and are sign-in codes. */
export type CodeMessage = {
  email: string
  locale: string
  code: string
  until: number
  purpose?: CodePurpose
}

export type UserOutbox = Outbox<UserMessage>

/** The lowest number is sent first: users wait for a reset, but not for a notice. */
export const PRIORITY = { reset: 0, confirmation: 1, notice: 2 }
