import fc from 'fast-check'
import { type TestApp, WEBHOOK_TOKEN } from '../app.ts'
import type { AppStore, FakeSubscription } from './app-store.ts'
import { nextChange, providerEvent, type Turn } from './life.ts'
import { PATH as STORE_PATH } from './world.ts'

const BILLING_PATH = '/api/webhooks/billing/v1'
const DAY = 24 * 60 * 60 * 1000
const MONTH = 30 * DAY
/** In the sandbox, a month takes five minutes. */
const SANDBOX_MONTH = 5 * 60 * 1000
/** Apple's history goes back 180 days, 30 in the sandbox. */
const HORIZON = 160 * DAY
const SANDBOX_START = 140 * DAY

/** How a message is delivered: not at all, or once or twice, after `delay` 720ths of the period. */
type Delivery = { isLost: boolean; delay: number; copies: number }
type ReportedTurn = Turn & { byStore: Delivery; byProvider: Delivery; lag: number }

/** The random life of a subscription. `isShared`: the billing provider reports it too. */
export type History = {
  startDay: number
  isSandbox: boolean
  isShared: boolean
  turns: ReportedTurn[]
}

const delivery = fc.record({
  isLost: fc.integer({ min: 0, max: 9 }).map((digit) => digit === 9),
  delay: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(100)),
  copies: fc.constantFrom(1, 1, 1, 2),
})

const randomHistory: fc.Arbitrary<History> = fc.record({
  startDay: fc.nat(40),
  isSandbox: fc.constantFrom(false, false, false, true),
  isShared: fc.boolean(),
  turns: fc.array(
    fc.record({
      wait: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 720 })),
      isAtEnd: fc.boolean(),
      choice: fc.nat(999),
      byStore: delivery,
      byProvider: delivery,
      /** How much later, in 7200ths of the period, the billing provider's event is dated. */
      lag: fc.integer({ min: -4, max: 4 }),
    }),
    { minLength: 1, maxLength: 16 },
  ),
})

/** Without a bias to small numbers, so that every change is equally likely. */
export const history = fc.noBias(randomHistory)

/** Plays histories at the same time and delivers what is reported. Returns the subscriptions. */
export async function playHistories(app: TestApp, store: AppStore, histories: History[]) {
  const start = app.clock.now.getTime()
  const agenda: { at: number; run: () => unknown }[] = []
  const subscriptions: FakeSubscription[] = []
  for (const each of histories) {
    const offset = each.isSandbox ? SANDBOX_START + (each.startDay / 3) * DAY : each.startDay * DAY
    agenda.push({ at: start + offset, run: () => live(each) })
  }
  while (agenda.length > 0) {
    const next = agenda.reduce((a, b) => (b.at < a.at ? b : a))
    agenda.splice(agenda.indexOf(next), 1)
    app.clock.now = new Date(next.at)
    await next.run()
  }
  app.clock.now = new Date(Math.max(now(), start + HORIZON))
  return subscriptions

  function live({ isSandbox, isShared, turns }: History) {
    const periodMs = isSandbox ? SANDBOX_MONTH : MONTH
    const bought = store.buy({
      environment: isSandbox ? 'Sandbox' : 'Production',
      product: 'pro',
      periodMs,
    })
    subscriptions.push(bought)
    const [first, ...others] = turns
    if (first) report(first, bought.notification.body, 'INITIAL_PURCHASE')
    takeTurn(others)

    function takeTurn([turn, ...rest]: ReportedTurn[]) {
      if (!turn) return
      const change = nextChange(bought, turn, now(), periodMs)
      if (change.at >= start + HORIZON) return
      agenda.push({
        at: change.at,
        run: () => {
          report(turn, change.apply().body, change.type)
          takeTurn(rest)
        },
      })
    }

    function report({ byStore, byProvider, lag }: ReportedTurn, body: object, type: string | null) {
      send(byStore, () => app.ask('POST', STORE_PATH, { json: body }))
      if (!isShared || type === null) return
      const json = providerEvent(bought, type, Math.round(now() + (lag * periodMs) / 7200))
      send(byProvider, () => app.ask('POST', BILLING_PATH, { token: WEBHOOK_TOKEN, json }))
    }

    function send({ isLost, delay, copies }: Delivery, ask: () => ReturnType<TestApp['ask']>) {
      if (isLost) return
      for (let copy = 1; copy <= copies; copy++) {
        const at = now() + (delay * copy * periodMs) / 720
        agenda.push({ at, run: () => expectOk(ask()) })
      }
    }
  }

  function now() {
    return app.clock.now.getTime()
  }
}

async function expectOk(asked: ReturnType<TestApp['ask']>) {
  const { status, text } = await asked
  if (status !== 200) throw new Error(`the delivery failed: ${text}`)
}
