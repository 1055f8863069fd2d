import { createTestApp } from './app.ts'
import { startSmtp } from './smtp.ts'

const BASE = { BASE_URL: 'https://api.example.com', APP_NAME: 'Sunrise' }

/** German texts of the verification e-mail. */
export const VERIFY = {
  'verify-email': {
    subject: { de: 'Willkommen bei {app}' },
    text: { de: 'Schön, dass du da bist!\n\nDer Link gilt {hours} Stunden.' },
    button: { de: 'Los geht’s' },
  },
}
/** English texts of the e-mail with a link to choose a new password. */
export const RESET = {
  'reset-password': {
    subject: 'New password for {name}',
    text: 'Hello {name},\n\nopen {link} within {minutes} minutes.',
  },
}

/** An app named Sunrise that sends its e-mails to a mail server on loopback. */
export async function startMailApp(environment: Record<string, string> = {}) {
  const smtp = await startSmtp()
  const app = await createTestApp({ ...BASE, SMTP_URL: smtp.url, ...environment })
  return {
    app,
    smtp,
    emails: app.services.emails,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}
