import { yieldToEventLoop } from '../../../../src/lib/concurrency/yield-to-event-loop.ts'
import { createTestApp } from '../../../support/app.ts'
import { serveApp } from '../../../support/served.ts'

const MINUTE = 60_000

/** Bodies of requests that scan a server. */
export const SCANS = ['{}', '', '[]', 'null', '{"a":1}', 'x=1', `{"event":"${'x'.repeat(20_000)}"}`]

/** A served app that counts deliveries, and whose alerts a test evaluates minute by minute. */
export async function setUpDeliveries(environment: Record<string, string> = {}) {
  const app = await createTestApp(environment)
  const server = serveApp(app)
  const { alerts, metrics } = app.services
  let sent = 0
  await alerts.evaluate()
  return {
    app,
    server,
    metrics,
    async send(path: string, body: string, token?: string) {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const headers = { 'content-type': 'application/json', ...authorization }
      const reply = await fetch(server.url + path, { method: 'POST', headers, body })
      sent++
      // Requests are measured after the reply.
      while ((await this.count('homeport_http_replies_total')) < sent) await yieldToEventLoop()
      return reply.status
    },
    async count(name: string, labels: Record<string, string> = {}) {
      const values = (await metrics.read(name)).filter((value) =>
        Object.entries(labels).every(([label, wanted]) => String(value.labels[label]) === wanted),
      )
      return values.reduce((sum, { value }) => sum + value, 0)
    },
    /** The names of the alerts that are firing after these minutes. */
    async listFiringAfter(minutes = 1) {
      for (let at = 0; at < minutes; at++) {
        app.clock.advance(MINUTE)
        await alerts.evaluate()
      }
      const { rules } = await alerts.list()
      return rules.flatMap(({ name, firedAt }) => (firedAt === null ? [] : [name]))
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await app[Symbol.asyncDispose]()
    },
  }
}
