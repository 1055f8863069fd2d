import type { Outbox } from '../../../platform/outbox/outbox.ts'
import type { MailKind } from './mail-texts.ts'

/**
 * What people's changes leave to be done after the commit: a mail, the end of a grant that Apple has to be
 * told of, or a forgotten password, so that its reply takes the same time whether or not the address is
 * known. `link` or `detail` fill in what a mail speaks of; `page` leads to the same without the app.
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
  | { kind: 'forgotten-password'; email: string; ip?: string }
  | { kind: 'apple-revocation'; clientId: string; token: string }

export type UserOutbox = Outbox<UserMessage>

/** What is sent first has the lowest number: without a reset somebody cannot get in, and nobody waits for a notice. */
export const PRIORITY = { reset: 0, confirmation: 1, notice: 2 }
