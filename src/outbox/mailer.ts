import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../lib/durable-file.ts'
import { mailboxOf } from '../lib/email-address.ts'
import { newId } from '../lib/ids.ts'

/** A mail to one mailbox. */
export type Mail = { to: string; subject: string; text: string; html: string }
export type SendMail = (mail: Mail) => Promise<void>

type MailerDeps = {
  smtpUrl: string | null
  /** As MAIL_FROM gives it, or in parts. */
  from: string | { name: string; address: string }
  /** Where mails are written as `.eml` files when there is no SMTP server. */
  folder: string
}

/** In ms. */
const TIMEOUT = 10_000
const TIMEOUTS = { connectionTimeout: TIMEOUT, greetingTimeout: TIMEOUT, socketTimeout: TIMEOUT }

/**
 * Sends a mail over SMTP, or writes it as a file. Throws when the server does not take it. The recipient
 * is one mailbox, never text that could be read as a list; what is no mailbox gets nothing.
 */
export function createMailer({ smtpUrl, from, folder }: MailerDeps): SendMail {
  return async ({ to, ...content }) => {
    const address = mailboxOf(to)
    if (address === null) return
    const { createTransport } = await import('nodemailer')
    const message = { from, to: { name: '', address }, ...content }
    if (smtpUrl !== null) {
      await createTransport({ url: smtpUrl, ...TIMEOUTS }).sendMail(message)
      return
    }
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
    const { message: bytes } = await transport.sendMail(message)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDurably(join(folder, `${newId()}.eml`), bytes as Buffer)
  }
}

/** Connects to an SMTP server and signs in, without a mail. Throws when it does not let us. */
export async function trySmtp(smtpUrl: string) {
  const { createTransport } = await import('nodemailer')
  await createTransport({ url: smtpUrl, ...TIMEOUTS }).verify()
}
