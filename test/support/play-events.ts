import type { TestApp } from './app.ts'
import { deliver, type EventFixture, ms } from './billing.ts'

/** Delivers events, each at its time, then sets the clock to `day`. */
export async function playEvents(app: TestApp, events: EventFixture[], day: number) {
  for (const event of events) {
    app.clock.now = new Date(ms(event.at))
    await deliver(app, event)
  }
  app.clock.now = new Date(ms(day))
}
