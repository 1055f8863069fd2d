import fc from 'fast-check'
import { type TestApp, WEBHOOK_TOKEN } from './app.ts'

const BILLING_PATH = '/api/webhooks/billing/v1'
const DAY = 24 * 60 * 60 * 1000
const MONTH = 30 * DAY
/** In the sandbox, a month takes five minutes. */
const SANDBOX_MONTH = 5 * 60 * 1000
/** Apple's history goes back 180 days, 30 in the sandbox. */
const HORIZON = 160 * DAY
const SANDBOX_START = 140 * DAY

/**
 * A random choice of a subscription's next change. `wait` is in 720ths of its period, an hour of a month; `isAtEnd`:
 * it happens at the end of the period.
 */
export type Turn = { wait: number; isAtEnd: boolean; choice: number }

/** Sends the store's message about a change. */
type SendMessage = () => Promise<unknown>

/** The next change, and its time (ms). `type` is the billing provider's event; null if it sends none. */
export type Change = { at: number; type: string | null; apply: () => SendMessage }

/** The successive purchases of one customer in a store. */
export type StoreSimulation = {
  sendFirstMessage: SendMessage
  next: (turn: Turn, now: number) => Change
  /** The billing provider's event about a change that has just happened, sent at `at` (ms). */
  providerEvent: (type: string, at: number) => object
}

/** How a message is delivered: not at all, or once or twice, after `delay` 720ths of the period. */
type Delivery = { isLost: boolean; delay: number; copies: number }
type ReportedTurn = Turn & { byStore: Delivery; byProvider: Delivery; lag: number }

/** The random history of a subscription. `isShared`: the billing provider reports it too. */
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

/**
 * Runs histories concurrently and delivers the messages about them. `begin` makes the first purchase of a history;
 * `everyDay` runs the server's jobs.
 */
export async function runHistories(
  app: TestApp,
  histories: History[],
  begin: (history: History, periodMs: number) => StoreSimulation,
  everyDay: () => Promise<void> = async () => {},
) {
  const start = app.clock.now.getTime()
  const agenda: { at: number; run: () => unknown }[] = []
  for (const history of histories) {
    const { isSandbox, startDay } = history
    const offset = isSandbox ? SANDBOX_START + (startDay / 3) * DAY : startDay * DAY
    agenda.push({ at: start + offset, run: () => simulate(history) })
  }
  for (let at = start; at < start + HORIZON; at += DAY) agenda.push({ at, run: everyDay })
  while (agenda.length > 0) {
    const next = agenda.reduce((a, b) => (b.at < a.at ? b : a))
    agenda.splice(agenda.indexOf(next), 1)
    app.clock.now = new Date(next.at)
    await next.run()
  }
  app.clock.now = new Date(Math.max(now(), start + HORIZON))

  function simulate(history: History) {
    const { isSandbox, isShared, turns } = history
    const periodMs = isSandbox ? SANDBOX_MONTH : MONTH
    const simulation = begin(history, periodMs)
    const [first, ...others] = turns
    if (first) report(first, simulation.sendFirstMessage, 'INITIAL_PURCHASE')
    takeTurn(others)

    function takeTurn([turn, ...rest]: ReportedTurn[]) {
      if (!turn) return
      const change = simulation.next(turn, now())
      if (change.at >= start + HORIZON) return
      agenda.push({
        at: change.at,
        run: () => {
          report(turn, change.apply(), change.type)
          takeTurn(rest)
        },
      })
    }

    function report(
      { byStore, byProvider, lag }: ReportedTurn,
      sendMessage: SendMessage,
      type: string | null,
    ) {
      send(byStore, sendMessage)
      if (!isShared || type === null) return
      const json = simulation.providerEvent(type, Math.round(now() + (lag * periodMs) / 7200))
      send(byProvider, () =>
        expectOk(app.ask('POST', BILLING_PATH, { token: WEBHOOK_TOKEN, json })),
      )
    }

    function send({ isLost, delay, copies }: Delivery, sendMessage: SendMessage) {
      if (isLost) return
      for (let copy = 1; copy <= copies; copy++) {
        agenda.push({ at: now() + (delay * copy * periodMs) / 720, run: sendMessage })
      }
    }
  }

  function now() {
    return app.clock.now.getTime()
  }
}

export async function expectOk(asked: ReturnType<TestApp['ask']>) {
  const { status, text } = await asked
  if (status !== 200) throw new Error(`the delivery failed: ${text}`)
}
