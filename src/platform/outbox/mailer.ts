import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { writeDurably } from '../../lib/durable-file.ts'
import { mailboxOf } from '../../lib/email-address.ts'
import { newId } from '../../lib/ids.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import { PermanentRefusal, SENDERS } from './outbox.ts'

/** An e-mail to one mailbox. */
export type Mail = { to: string; subject: string; text: string; html: string }
export type SendMail = (mail: Mail) => Promise<void>
type Mailer = { send: SendMail; close: () => void }

type SmtpError = Error & { response?: string; responseCode?: number; command?: string }

type MailerDeps = {
  smtpUrl: string | null
  /** The value of MAIL_FROM, or its parts. */
  from: string | { name: string; address: string }
  /** Where e-mails are written as `.eml` files if there is no SMTP server. */
  folder: string
  /** How long a delivery may take, in ms; set only by tests. */
  deadline?: number
}

/** Keeps away replies of absent recipients (https://www.rfc-editor.org/rfc/rfc3834#section-5). */
const HEADERS = { 'Auto-Submitted': 'auto-generated' }
const TIMEOUT_MS = 10_000
const TIMEOUTS = {
  connectionTimeout: TIMEOUT_MS,
  greetingTimeout: TIMEOUT_MS,
  socketTimeout: TIMEOUT_MS,
  socketCloseTimeout: 500,
}
/** For a whole delivery, in ms: every byte from the server restarts the timeouts above. */
const DEADLINE_MS = 60_000
/** How long an idle connection is kept for the next e-mail. */
const IDLE_TIMEOUT_MS = 5_000

/**
 * Sends e-mails over SMTP, or writes them to files. Throws when the server refuses one: `PermanentRefusal` if it will
 * never accept it. The recipient is a single mailbox, never text that could be parsed as a list.
 */
export function createMailer({
  smtpUrl,
  from,
  folder,
  deadline = DEADLINE_MS,
}: MailerDeps): Mailer {
  let pool: Promise<Transporter> | null = null
  return { send, close }

  async function send({ to, ...content }: Mail) {
    const address = mailboxOf(to)
    if (address === null) return
    const message = { from, to: { name: '', address }, headers: HEADERS, ...content }
    if (smtpUrl === null) return writeFile(message)
    pool ??= openPool(smtpUrl)
    const transport = await pool
    const signal = AbortSignal.timeout(deadline)
    await transport.sendMail({ ...message, signal }).catch((error) => {
      throw signal.aborted ? deliveryTimeout(deadline) : mailError(error, address)
    })
  }

  /** Closes idle connections. */
  function close() {
    void pool?.then((transport) => transport.close())
    pool = null
  }

  async function writeFile(message: object) {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
    const { message: bytes } = await transport.sendMail(message)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDurably(join(folder, `${newId()}.eml`), bytes as Buffer)
  }
}

async function openPool(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  const idleTimeout = IDLE_TIMEOUT_MS
  return createTransport({ url, pool: true, maxConnections: SENDERS, idleTimeout, ...TIMEOUTS })
}

function deliveryTimeout(deadline: number): Error {
  return new Error(`the mail server took longer than ${deadline / 1000} s`)
}

/** A reply with an enhanced status code (https://www.rfc-editor.org/rfc/rfc3463), and those of a mailbox that does not exist. */
const ENHANCED = /^5\d\d[ -]\d\.\d+\.\d+/
const NO_SUCH_MAILBOX = /^5\d\d[ -]5\.(1\.[1236]|1\.10|2\.1)\b/

/**
 * Converts nodemailer's error. Servers also refuse our sender, or a used-up quota, with 5xx at the recipient or the
 * content: such an e-mail is sent once the cause is repaired.
 */
function mailError(error: SmtpError, recipient: string): Error {
  const { message, response = '', responseCode = 0, command } = error
  const text = maskPersonalData(message, recipient)
  const isPermanent = ENHANCED.test(response)
    ? NO_SUCH_MAILBOX.test(response) && (command === 'RCPT TO' || command === 'DATA')
    : [550, 551, 553].includes(responseCode) && command === 'RCPT TO'
  return isPermanent ? new PermanentRefusal(text) : new Error(text)
}

/** Mail servers quote addresses and links in their errors. */
function maskPersonalData(text: string, recipient: string): string {
  const parts = recipient.split('@').map(RegExp.escape).join('|')
  return text
    .replace(/[^\s<>()[\]"',;]+(@|:\/\/)[^\s<>()[\]"',;]+/g, '[masked]')
    .replace(new RegExp(`(?<![\\w.-])(${parts})(?![\\w-])`, 'giu'), '[masked]')
    .replace(/[\w-]{32,}/g, '[masked]')
}

/** Connects to an SMTP server and signs in without sending an e-mail. Throws when that fails. */
export async function trySmtp(smtpUrl: string, deadline = DEADLINE_MS) {
  const { createTransport } = await import('nodemailer')
  const verified = createTransport({ url: smtpUrl, ...TIMEOUTS }).verify()
  await withTimeout(verified, deadline, () => deliveryTimeout(deadline))
}
