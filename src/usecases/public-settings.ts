import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { MailLinks } from '../features/users/email/email-addresses.ts'
import { createMailer } from '../platform/outbox/mailer.ts'

/** Where the pages are: never the Host of a request, which anybody could choose. */
export function publicUrl({ baseUrl, port }: Config): string {
  return baseUrl ?? `http://localhost:${port}`
}

/** Where the console is; null where it is off. */
export function consoleUrlOf(config: Config): string | null {
  const { consolePort } = config
  if (!config.console) return null
  const own = consolePort === null ? publicUrl(config) : `http://localhost:${consolePort}`
  return `${own}/console`
}

/** What links in mails begin with. Where there is an app, a page on this machine is no use. */
export function linksOf(config: Config): MailLinks {
  const { appLinkUrl, baseUrl } = config
  const page = `${publicUrl(config)}/auth`
  return { app: appLinkUrl, page: appLinkUrl !== null && baseUrl === null ? null : page }
}

/** Sends over SMTP, or writes into the folder of mails where that is not set. */
export function mailerOf(config: Config, appName: string) {
  const { smtpUrl, mailFrom, dataDir } = config
  const address = `no-reply@${new URL(publicUrl(config)).hostname}`
  return createMailer({
    smtpUrl,
    from: mailFrom ?? { name: appName, address },
    folder: join(dataDir, 'outbox'),
  })
}
