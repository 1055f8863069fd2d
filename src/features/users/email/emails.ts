import { AppError } from '../../../lib/errors.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import { check } from '../../../lib/validation.ts'
import type { Limits, WindowRule } from '../../../platform/limits/limits.ts'
import type { SendMail } from '../../../platform/outbox/mailer.ts'
import { createPublished, type Published } from '../../../platform/publications/publications.ts'
import type { PublicationsDb } from '../../../platform/publications/schema.ts'
import type { MailLinks } from '../context/context.ts'
import builtIn from './built-in-emails.json' with { type: 'json' }
import { checkEmails, listLanguages, readText } from './check-emails.ts'
import { linksTo, requireMailbox } from './email-addresses.ts'
import { KINDS, type MailContent, type MailKind } from './mail-kinds.ts'
import { layOutMail } from './mail-layout.ts'
import { chooseLanguage, Emails } from './model.ts'

type EmailsDeps = {
  db: PublicationsDb
  limits: Limits
  links: MailLinks
  sendMail: SendMail
  appName: string
  /** Whether there is an SMTP server. */
  canSend: boolean
  now: () => Date
}

/** `content`: unpublished texts. */
type Sample = { kind: MailKind; language?: string | undefined; content?: unknown }

export type PublishedEmails = ReturnType<typeof createEmails>

const BUILT_IN: Emails = builtIn.texts
/** For test e-mails per address and per operator. */
const TEST_LIMIT: WindowRule = { name: 'test-mail', max: 20, seconds: 60 * 60 }
/** The server closes a connection on which it has sent nothing for 15 seconds. */
const TEST_TIMEOUT_MS = 12_000

/** Operators publish the frame, and texts that replace the built-in ones. */
export function createEmails(deps: EmailsDeps) {
  const { db, now, appName, limits, links, sendMail, canSend } = deps
  const published: Published<Emails> = createPublished({
    db,
    now,
    kind: 'emails',
    initial: {},
    check: checkEmails,
    store: (tx) => current.invalidate(tx),
  })
  const current = db.cached('emails', published.load)
  return { ...published, render, preview, sendTest, listTexts }

  async function render(message: MailContent, emails?: Emails) {
    const { [message.mail]: custom, frame = {} } = emails ?? (await current.read())
    const builtInTexts = BUILT_IN[message.mail]
    const languages = listLanguages(custom)
    const language = chooseLanguage(message.locale, languages, listLanguages(builtInTexts))
    const text = readText(languages.includes(language) ? custom : builtInTexts, language)
    return layOutMail(message, text, { frame, language, appName })
  }

  /** Renders an e-mail with sample values. */
  async function preview({ kind, language = 'en', content }: Sample) {
    const { placeholders, sample: detail } = KINDS[kind]
    const link = placeholders.includes('link') ? linksTo(links, 'verify', 'example') : {}
    const message = { mail: kind, locale: language, detail, name: 'Ann', ...link }
    return render(message, content === undefined ? undefined : check(Emails, content, 'emails'))
  }

  /** Bypasses the outbox, so that the operator learns whether the mail server accepted the e-mail. */
  async function sendTest({ email, ...sample }: Sample & { email: string }, operator: string) {
    const to = requireMailbox(email)
    if (sample.content !== undefined) checkEmails(sample.content)
    const { subject, ...parts } = await preview(sample)
    const keys = [toEmailKey(to), `by ${operator}`]
    await limits.reserve(keys.map((key) => ({ rule: TEST_LIMIT, key })))
    const signal = AbortSignal.timeout(TEST_TIMEOUT_MS)
    await sendMail({ to, subject: `[Test] ${subject}`, ...parts }, signal).catch((error) => {
      throw new AppError('conflict', `The mail server did not accept the e-mail: ${error.message}`)
    })
    return { email: to, isSent: canSend }
  }

  /** The texts in use, in the format of `publish`: the published texts, and the built-in texts of other e-mails. */
  async function listTexts(): Promise<Emails> {
    return { ...BUILT_IN, ...(await current.read()) }
  }
}
