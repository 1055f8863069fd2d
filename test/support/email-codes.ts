import { createTestApp } from './app.ts'
import { type ReceivedMail, startSmtp } from './smtp.ts'

export const CODE_PATH = '/api/auth/email_code/v1'
export const EMAIL = 'ann@example.com'
const BASE = { BASE_URL: 'https://api.example.com' }

/** An app that mails codes to a server on loopback. */
export async function startEmailCodes(environment: Record<string, string> = {}) {
  const smtp = await startSmtp()
  const app = await createTestApp({ ...BASE, SMTP_URL: smtp.url, ...environment })
  return {
    app,
    smtp,
    request: (email = EMAIL, headers = {}) =>
      app.ask('POST', CODE_PATH, { json: { email }, headers }),
    verify: (requestToken: string, code: string, extra: object = {}) =>
      app.ask('POST', `${CODE_PATH}/verify`, { json: { requestToken, code }, ...extra }),
    /** Asks for a code and reads it from the e-mail. */
    async code(email = EMAIL) {
      const { json } = await this.request(email)
      return { requestToken: json.response.requestToken, code: codeIn(await smtp.next(email)) }
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}

/** The code in an e-mail; `none` without one. */
export function codeIn({ text }: ReceivedMail): string {
  return /\b\d{6}\b/.exec(text)?.[0] ?? 'none'
}

/** A code of six digits other than this one. */
export function otherCode(code: string): string {
  return String((Number(code) + 1) % 1_000_000).padStart(6, '0')
}
