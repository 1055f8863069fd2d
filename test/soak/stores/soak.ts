import {
  readPurchase,
  type StoredPurchase,
} from '../../../src/features/billing/projection/fold-state.ts'
import { WEBHOOK_TOKEN } from '../../support/app.ts'
import { createAgenda } from './agenda.ts'
import { createStores, MONTH, type StoreMessage, type StoreSimulation } from './customers.ts'
import { startServer } from './process.ts'
import { seededRandom } from './random.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const BILLING_PATH = '/api/webhooks/billing/v1'
/** `STORE_GRACE_HOURS` at its default. */
const LENIENCE = 3 * HOUR
/** Requests in flight at the same time. */
const PARALLEL = 16

export type SoakOptions = {
  users: number
  months: number
  seed: number
  /** How often the server is killed. */
  kills: number
  /** How often its jobs run, in ms; a part of an hour. */
  tick: number
}

type Customer = {
  userId: string
  simulation: StoreSimulation
  /** From when the server knows that the purchase may have changed, and can ask the store about it, in ms. */
  dueAt: number
  detectableAt: number
}

/**
 * Simulates customers of both stores for some virtual months: messages are lost, late, repeated and out of order, the
 * APIs of the stores fail for hours, and the server is killed. Then compares it with the stores.
 */
export async function runStoreSoak(options: SoakOptions, logProgress: (text: string) => void) {
  const { users, months, seed, kills, tick } = options
  const random = seededRandom(seed)
  const clock = { now: new Date('2027-01-01T00:00:00Z'), advance: () => {} }
  await using stores = await createStores(clock)
  await using server = await startServer({ ...stores.environment, WEBHOOK_TOKEN })
  const start = clock.now.getTime()
  const end = start + months * MONTH
  const agenda = createAgenda(tick)
  const customers: Customer[] = []
  const losses: string[] = []
  const counts = { changes: 0, deliveries: 0, failedDeliveries: 0, checks: 0, kills: 0 }
  let requests: (() => Promise<void>)[] = []
  let paidMonths = 0
  let isAppStoreDown = false
  let peakMemory = 0

  for (let at = 0; at < users; at++) agenda.add(start + random.upTo(MONTH), () => addCustomer(at))
  for (let at = start; at < end; at += MONTH) {
    addOutage(at, (isDown) => {
      stores.google.isDown = isDown
    })
    addOutage(at, (isDown) => {
      isAppStoreDown = isDown
      stores.apple.outage.isOn = isDown
    })
  }
  const killTimes = Array.from({ length: kills }, () => start + random.upTo(end - start)).sort()
  for (let time = start; time < end; time += tick) {
    await runTick(time)
    if ((time - start) % MONTH < tick) {
      peakMemory = Math.max(peakMemory, await server.residentMemory())
      logProgress(`month ${Math.floor((time - start) / MONTH)}: ${JSON.stringify(counts)}`)
    }
  }
  return { ...(await compare()), ...counts, losses, ...requestsPerMonth(), peakMemory }

  async function runTick(time: number) {
    for (const { at, run } of agenda.takeUntil(time + tick)) {
      setClock(at)
      run()
    }
    setClock(time + tick)
    const isKill = killTimes[0] !== undefined && killTimes[0] <= time
    const working = sendAll().then(() => runJobs(time))
    if (isKill) {
      killTimes.shift()
      await Bun.sleep(random.upTo(60))
      await server.kill()
      counts.kills++
    }
    await working
    paidMonths +=
      (customers.filter(({ simulation }) => isPaidOnGooglePlay(simulation)).length * tick) / MONTH
  }

  function isPaidOnGooglePlay(simulation: StoreSimulation) {
    return simulation.store === 'play_store' && simulation.current().isActive
  }

  async function runJobs(time: number) {
    const isHourly = time % HOUR === 0
    await server.call('runJobs', { isHourly, isQuarterDaily: time % (6 * HOUR) === 0 })
  }

  async function sendAll() {
    const batch = requests
    requests = []
    for (let at = 0; at < batch.length; at += PARALLEL) {
      await Promise.all(batch.slice(at, at + PARALLEL).map((send) => send()))
    }
  }

  function setClock(ms: number) {
    clock.now = new Date(ms)
    server.setTime(ms)
  }

  /** A customer buys in one store, or in both. */
  function addCustomer(at: number) {
    const userId = random.uuid()
    const begin = at % 2 === 0 ? stores.beginInAppStore : stores.beginOnGooglePlay
    simulate(userId, begin(userId), random.chance(0.3))
    if (at % 10 === 0) simulate(userId, stores.beginOnGooglePlay(userId), false)
  }

  function simulate(userId: string, simulation: StoreSimulation, isShared: boolean) {
    const customer: Customer = {
      userId,
      simulation,
      dueAt: Number.POSITIVE_INFINITY,
      detectableAt: Number.POSITIVE_INFINITY,
    }
    customers.push(customer)
    report(customer, simulation.firstMessages, isShared ? 'INITIAL_PURCHASE' : null, null)
    takeTurn()

    function takeTurn() {
      const wait = 1 + random.upTo(720)
      const turn = { wait, isAtEnd: random.chance(0.8), choice: random.upTo(1_000) }
      const { at, type, apply } = simulation.next(turn)
      if (at >= end) return
      agenda.add(at, () => {
        const before = simulation.current()
        const messages = apply()
        counts.changes++
        const isNew = simulation.current().key !== before.key
        report(customer, messages, isShared ? type : null, isNew ? null : before.askedWithin)
        takeTurn()
      })
    }
  }

  /**
   * Sends the store's messages and the billing provider's event. `askedWithin`: how soon (ms) the server asks the store
   * without a message; null for a new purchase, which the app submits.
   */
  function report(
    customer: Customer,
    messages: StoreMessage[],
    type: string | null,
    askedWithin: number | null,
  ) {
    const { simulation } = customer
    const at = clock.now.getTime()
    customer.dueAt = Number.POSITIVE_INFINITY
    customer.detectableAt = Number.POSITIVE_INFINITY
    if (askedWithin === 0) markDetectable(customer)
    else if (askedWithin !== null) agenda.add(at + askedWithin, () => markDetectable(customer))
    for (const message of messages)
      if (!random.chance(0.05)) sendLate(message, message.isAboutFormer ? null : customer)
    if (askedWithin === null)
      agenda.add(at + random.upTo(random.chance(0.9) ? MINUTE : DAY), () => submit(customer))
    if (type !== null && !random.chance(0.05)) {
      const json = simulation.providerEvent(type, at)
      const message = { path: BILLING_PATH, attempt: () => ({ json, token: WEBHOOK_TOKEN }) }
      sendLate(message, null)
    }
    agenda.add(at + 5 * HOUR, () => check(customer))
    agenda.add(at + random.upTo(20 * DAY), () => check(customer))
  }

  function isDown({ store }: StoreSimulation) {
    return store === 'app_store' ? isAppStoreDown : stores.google.isDown
  }

  function sendLate(message: StoreMessage, customer: Customer | null) {
    const late = random.chance(0.7) ? MINUTE : random.chance(0.7) ? HOUR : DAY
    const copies = random.chance(0.1) ? 2 : 1
    for (let copy = 0; copy < copies; copy++) {
      agenda.add(clock.now.getTime() + random.upTo(late), () => send(message, customer))
    }
  }

  function send(message: StoreMessage, customer: Customer | null) {
    const { json, token } = message.attempt()
    requests.push(async () => {
      counts.deliveries++
      if ((await server.post(message.path, json, token)) === 200) return markDetectable(customer)
      counts.failedDeliveries++
      agenda.add(clock.now.getTime() + HOUR, () => send(message, customer))
    })
  }

  function submit(customer: Customer) {
    const { userId, simulation } = customer
    const purchases = [simulation.submission()] as never
    requests.push(async () => {
      const results = await server.call('submit', { userId, purchases })
      if (results !== null) return markDetectable(customer)
      agenda.add(clock.now.getTime() + DAY, () => submit(customer))
    })
  }

  /** A notification only says that something changed, so it counts once Google can be asked. */
  function markDetectable(customer: Customer | null) {
    if (customer === null) return
    const now = clock.now.getTime()
    customer.dueAt = Math.min(customer.dueAt, now)
    if (!isDown(customer.simulation)) customer.detectableAt = Math.min(customer.detectableAt, now)
  }

  function check(customer: Customer) {
    const { userId, simulation } = customer
    requests.push(async () => {
      const read = await server.call('readAccess', { userIds: [userId] })
      const { isActive, productId, key } = simulation.current()
      if (read === null || !isActive) return
      counts.checks++
      const now = clock.now.getTime()
      const has = read[0]?.some(
        (one) =>
          one.productId === productId &&
          (one.effectiveEndAt === null || Date.parse(one.effectiveEndAt) > now),
      )
      if (has) return
      if (now > customer.detectableAt + LENIENCE)
        losses.push(`${new Date(now).toISOString()} ${key}`)
    })
  }

  function addOutage(month: number, set: (isDown: boolean) => void) {
    const from = month + random.upTo(MONTH - DAY)
    agenda.add(from, () => set(true))
    agenda.add(from + 2 * HOUR + random.upTo(10 * HOUR), () => {
      set(false)
      for (const customer of customers) {
        if (customer.dueAt <= clock.now.getTime()) markDetectable(customer)
      }
    })
  }

  /** Waits for the weekly checks, then compares every purchase with its store. */
  async function compare() {
    stores.google.isDown = false
    stores.apple.outage.isOn = false
    for (let time = end; time < end + 8 * DAY; time += HOUR) {
      const late = agenda.takeUntil(time)
      setClock(time)
      for (const { run } of late) run()
      await sendAll()
      await server.call('runJobs', { isHourly: true, isQuarterDaily: time % (6 * HOUR) === 0 })
    }
    const rows = (await server.call('readPurchases', {})) ?? []
    const known = new Map(
      rows.map((row) => [row.purchaseKey, readPurchase(row.state as StoredPurchase)]),
    )
    const differing = customers.flatMap(({ simulation }) => {
      const { key, isActive, productId } = simulation.current()
      const purchase = known.get(key)
      const ends = [purchase?.expiresAt ?? 0, purchase?.graceExpiresAt ?? 0]
      const isOver = purchase?.endedAt != null || Math.max(...ends) <= clock.now.getTime()
      const isSame = purchase?.productId === productId && isOver === !isActive
      return isSame ? [] : [key]
    })
    const isUnacknowledged = ({ voided }: { voided: { voidedReason: number } }) =>
      voided.voidedReason === 8
    return {
      purchases: customers.length,
      differing,
      unacknowledged: stores.playStore.voided.filter(isUnacknowledged).length,
      rebuilt: await server.call('rebuild', {}),
      maxParallelPerToken: stores.google.maxParallelPerToken,
    }
  }

  function requestsPerMonth() {
    const { asked, requests: all } = stores.google
    return {
      asksPerPaidMonth:
        asked.filter(({ request }) => request.startsWith('GET')).length / paidMonths,
      requestsPerPaidMonth: all.length / paidMonths,
    }
  }
}
