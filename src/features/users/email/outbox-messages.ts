import type { Outbox } from '../../../platform/outbox/outbox.ts'
import type { CodePurpose } from '../credentials/one-time-tokens.ts'
import type { MailContent } from './mail-kinds.ts'

/** Forgotten passwords and codes are queued so that responses take as long for unknown addresses. */
type UserMessage =
  | ({ kind: 'mail'; to: string } & MailContent)
  | { kind: 'alert'; to: string; subject: string; text: string }
  | { kind: 'forgotten-password'; email: string; ip?: string }
  | ({ kind: 'email-code' } & CodeMessage)
  | { kind: 'apple-revocation'; clientId: string; token: string }

/** `until`: when the code expires, in ms. Messages from earlier builds have no `purpose`: they are sign-in codes. */
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
