import type { Outbox } from '../../../platform/outbox/outbox.ts'
import type { MailKind } from './mail-texts.ts'

/**
 * Work to do after a commit: a mail to a user or to the operators (`alert`), a grant to revoke at Apple, or a forgotten
 * password or sign-in code, which is queued so that the reply takes as long for unknown addresses as for known ones.
 * `link` and `detail` fill in the mail; `page` is the same link for browsers. `until`: when the code expires, in ms.
 */
type UserMessage =
  | {
      kind: 'mail'
      mail: MailKind
      to: string
      locale: string
      link?: string
      page?: string
      detail?: string
    }
  | { kind: 'alert'; to: string; subject: string; text: string }
  | { kind: 'forgotten-password'; email: string; ip?: string }
  | { kind: 'email-code'; email: string; locale: string; code: string; until: number }
  | { kind: 'apple-revocation'; clientId: string; token: string }

export type UserOutbox = Outbox<UserMessage>

/** The lowest number is sent first: users wait for a reset, but not for a notice. */
export const PRIORITY = { reset: 0, confirmation: 1, notice: 2 }
