import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { LIFETIME_MS } from '../credentials/one-time-tokens.ts'
import builtIn from './built-in-emails.json' with { type: 'json' }

export type MailKind = keyof typeof builtIn.kinds

/** `sample`: what previews show for the detail, such as a code. */
type KindDetails = { occasion: string; placeholders: string[]; sample: string }

/** When each e-mail is sent, and the placeholders that its texts may contain. */
export const KINDS: Record<MailKind, KindDetails> = builtIn.kinds
export const MAIL_KINDS = Object.keys(KINDS) as MailKind[]

/** The content of an e-mail to a user. `link` and `detail` fill placeholders; `page` is the same link for browsers. */
export type MailContent = {
  mail: MailKind
  locale: string
  link?: string
  page?: string
  detail?: string
  /** Empty unless the user has proven the address, which may be someone else's. */
  name?: string
}

/** The values of an e-mail's placeholders, by name. */
export function listValues({ mail, link = '', detail = '', name = '' }: MailContent, app: string) {
  const lifetimes: Record<string, number> = LIFETIME_MS
  const ms = lifetimes[mail === 'email-change-requested' ? 'cancel-email-change' : mail] ?? 0
  const times = { minutes: ms / MINUTE_MS, hours: ms / HOUR_MS, days: ms / DAY_MS }
  const known: Record<string, unknown> = { app, link, name, ...times }
  const { placeholders } = KINDS[mail]
  return Object.fromEntries(placeholders.map((key) => [key, String(known[key] ?? detail)]))
}
