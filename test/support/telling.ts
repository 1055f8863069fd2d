import type { TestApp } from './app.ts'
import { deliver, ms, type Told } from './billing.ts'

/** Delivers events, each at its time, and lets it become `day`. */
export async function tell(app: TestApp, events: Told[], day: number) {
  for (const event of events) {
    app.clock.now = new Date(ms(event.at))
    await deliver(app, event)
  }
  app.clock.now = new Date(ms(day))
}
