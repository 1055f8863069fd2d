import { mkdir } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import { isLoopback } from '../../config/values.ts'
import { withTimeout } from '../../lib/concurrency/with-timeout.ts'
import { writeDurably } from '../../lib/files/durable-file.ts'
import { newId } from '../../lib/ids.ts'
import { parseMailbox } from '../../lib/text/email-address.ts'
import { PermanentRefusal, SENDERS } from './outbox.ts'

export type Mail = { to: string; subject: string; text: string; html: string }
/** The signal aborts the delivery, which is then repeated. */
export type SendMail = (mail: Mail, stopping?: AbortSignal) => Promise<void>
type Mailer = { send: SendMail; close: () => void }

type SmtpError = Error & { response?: string; responseCode?: number; command?: string }

type MailerDeps = {
  smtpUrl: string | null
  /** The EHLO name; null for this machine's host name. */
  ehloName?: string | null
  /** The value of MAIL_FROM, or its parts. */
  from: string | { name: string; address: string }
  /** Where e-mails are written as `.eml` files if there is no SMTP server. */
  folder: string
  /** How long a delivery may take, in ms; set only by tests. */
  deadline?: number
}

/** Prevents out-of-office replies (https://www.rfc-editor.org/rfc/rfc3834#section-5). */
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
 * Throws when the server refuses an e-mail: `PermanentRefusal` if it will never accept it. The recipient is a single
 * mailbox, never text that could be parsed as a list.
 */
export function createMailer({
  smtpUrl,
  ehloName = null,
  from,
  folder,
  deadline = DEADLINE_MS,
}: MailerDeps): Mailer {
  let pool: Promise<Transporter> | null = null
  return { send, close }

  async function send({ to, ...content }: Mail, stopping?: AbortSignal) {
    const address = parseMailbox(to)
    if (address === null) return
    const message = { from, to: { name: '', address }, headers: HEADERS, ...content }
    if (smtpUrl === null) return writeFile(message)
    pool ??= openPool(smtpUrl, ehloName)
    const transport = await pool
    const timeout = AbortSignal.timeout(deadline)
    const signal = AbortSignal.any(stopping ? [timeout, stopping] : [timeout])
    await transport.sendMail({ ...message, signal }).catch((error) => {
      throw timeout.aborted ? deliveryTimeout(deadline) : mailError(error, address)
    })
  }

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

async function openPool(url: string, ehloName: string | null): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  const pool = { pool: true, maxConnections: SENDERS, idleTimeout: IDLE_TIMEOUT_MS } as const
  return createTransport({ ...createConnectionOptions(url, ehloName), ...pool })
}

/** A relay on this machine may have a self-signed certificate, as on Debian. The URL's parameters override these options. */
function createConnectionOptions(url: string, name: string | null) {
  const tls = { rejectUnauthorized: !isLoopback(new URL(url).hostname) }
  return { url, tls, ...(name === null ? {} : { name }), ...TIMEOUTS }
}

/** The host of BASE_URL as the EHLO name: many mail servers reject names that are not public. */
export function findEhloName(baseUrl: string | null): string | null {
  const { hostname = '' } = (baseUrl && URL.parse(baseUrl)) || {}
  if (isIP(hostname) === 4) return `[${hostname}]`
  if (hostname.startsWith('[')) return hostname.replace('[', '[IPv6:')
  return hostname.includes('.') ? hostname : null
}

function deliveryTimeout(deadline: number): Error {
  return new Error(`the mail server took longer than ${deadline / 1000} s`)
}

/** A reply with an enhanced status code (https://www.rfc-editor.org/rfc/rfc3463), and those of a mailbox that does not exist. */
const ENHANCED = /^5\d\d[ -]\d\.\d+\.\d+/
const NO_SUCH_MAILBOX = /^5\d\d[ -]5\.(1\.[1236]|1\.10|2\.1)\b/

/** Servers also answer 5xx for a rejected sender or an exceeded quota. Such an e-mail is retried until that is fixed. */
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
export async function trySmtp(
  smtpUrl: string,
  deadline = DEADLINE_MS,
  ehloName: string | null = null,
) {
  const { createTransport } = await import('nodemailer')
  const verified = createTransport(createConnectionOptions(smtpUrl, ehloName)).verify()
  await withTimeout(verified, deadline, () => deliveryTimeout(deadline))
}

/** Why `trySmtp` failed, and what to do. */
export function explainSmtpError({ message, command = '', response, ...error }: CheckError) {
  const code = error.originalCode ?? error.code ?? error.name
  if (/certificate|altname|self.signed/i.test(message))
    return [`its certificate is not valid: ${message}`, CERTIFICATE_ADVICE]
  if (/^[EHL]+O$/.test(command) && response)
    return [`it rejects our EHLO name: ${response}`, EHLO_ADVICE]
  if (error.code === 'EAUTH')
    return [
      `it rejects the credentials: ${response ?? code}`,
      'Check the user name and password in SMTP_URL.',
    ]
  return [code, CONNECTION_ADVICE]
}

type CheckError = SmtpError & { code?: string; originalCode?: string }

const CERTIFICATE_ADVICE =
  'Use a host that the certificate names. For a relay in a network that you trust, append "?tls.rejectUnauthorized=false" to SMTP_URL.'
const EHLO_ADVICE =
  'Set BASE_URL to a public host name, or append "?name=host.example.com" to SMTP_URL.'
const CONNECTION_ADVICE =
  'Check the host and port in SMTP_URL: smtps:// is for port 465, smtp:// for others. Some hosting providers block ports 25 and 587.'
