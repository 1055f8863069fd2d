import { createTestApp } from '../../../support/app.ts'
import { startSmtp } from '../../../support/smtp.ts'

const MINUTE = 60_000
const BILLING = '/api/webhooks/billing/v1'
const TO = 'ops@example.com'

/** An app whose alerts a test evaluates minute by minute. */
export async function setUpAlerts() {
  const smtp = await startSmtp()
  const app = await createTestApp({ SMTP_URL: smtp.url, ALERT_EMAIL: TO })
  const { alerts, users } = app.services
  await alerts.set('mails-waiting', { isOn: false })
  let refused = 0
  return {
    app,
    smtp,
    alerts,
    /** Evaluates the rules once a minute. Returns the subjects of the e-mails that were sent. */
    async advance(minutes: number) {
      for (let at = 0; at < minutes; at++) {
        app.clock.advance(MINUTE)
        await alerts.evaluate()
        // An e-mail in flight would be sent again once the clock has passed its lease.
        await users.outbox.flush()
      }
      return smtp.mails
        .splice(0)
        .map(({ subject }) => subject.replace(/\r?\n\s+/g, ' ').replace('homeport: ', ''))
    },
    async refuseDelivery() {
      await app.ask('POST', BILLING, { json: { event: { type: 'TEST' } } })
      await app.logged({ route: BILLING }, ++refused)
    },
    rule: async (name: string) => (await alerts.list()).rules.find((one) => one.name === name),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}
