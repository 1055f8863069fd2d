import { WEBHOOK_TOKEN } from './app.ts'
import type { installExecutable, Server } from './executable.ts'

/**
 * Delivers `rate` events per second, each on a new connection. Returns a function that stops the
 * deliveries and returns the acknowledged events, and the refused ones with the reason.
 */
export function deliverSteadily(server: Server, rate: number) {
  const acknowledged: string[] = []
  const refused: string[] = []
  const sent: Promise<void>[] = []
  const started = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - started) / 1000) * rate
    while (sent.length < due) sent.push(send(`L${sent.length}`))
  }, 5)
  return async () => {
    clearInterval(timer)
    await Promise.all(sent)
    return { acknowledged, refused }
  }

  async function send(id: string) {
    const event = { id, type: 'TEST', event_timestamp_ms: 1_783_000_000_000 }
    try {
      const reply = await fetch(`${server.url}/api/webhooks/billing/v1`, {
        method: 'POST',
        keepalive: false,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${WEBHOOK_TOKEN}` },
        body: JSON.stringify({ event }),
      })
      if (reply.status === 200) acknowledged.push(id)
      else refused.push(`${id} ${reply.status}`)
    } catch (error) {
      refused.push(`${id} ${error}`)
    }
  }
}

/** The acknowledged events that are missing from the server or its data. */
export async function findLostEvents(
  homeport: Awaited<ReturnType<typeof installExecutable>>,
  acknowledged: string[],
): Promise<string[]> {
  const { stdout } = await homeport.run(['events', 'list', '--limit', '999999', '--json'])
  const kept = new Set(JSON.parse(stdout).map(({ eventId }: { eventId: string }) => eventId))
  return acknowledged.filter((id) => !kept.has(id))
}
