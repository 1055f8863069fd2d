import { WEBHOOK_TOKEN } from '../../support/app.ts'
import { createAgenda } from './agenda.ts'
import { compareWithStores, countRequests } from './compare.ts'
import {
  createStores,
  MONTH,
  type StoreMessage,
  type StoreName,
  type StoreSimulation,
} from './customers.ts'
import { startServer } from './process.ts'
import { seededRandom } from './random.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const BILLING_PATH = '/api/webhooks/billing/v1'
/** `STORE_GRACE_HOURS` at its default. */
const STORE_GRACE_MS = 3 * HOUR
const STORES = ['play_store', 'app_store', 'stripe'] as const
/** Requests in flight at the same time. */
const PARALLEL = 16

export type SoakOptions = {
  users: number
  months: number
  seed: number
  /** How often the server is killed. */
  kills: number
  /** The interval of its jobs in ms, a fraction of an hour. */
  tick: number
}

type Customer = {
  userId: string
  simulation: Pick<StoreSimulation, 'store' | 'current'>
  /** When the server first knows that the purchase may have changed, and can first query the store, in ms. */
  dueAt: number
  detectableAt: number
}

/**
 * Simulates customers of all stores for some virtual months: messages are lost, late, repeated and out of order, the
 * APIs of the stores fail for hours, and the server is killed. Then compares it with the stores.
 */
export async function runStoreSoak(options: SoakOptions, logProgress: (text: string) => void) {
  const { users, months, seed, kills, tick } = options
  const random = seededRandom(seed)
  const clock = { now: new Date('2027-01-01T00:00:00Z'), advance: () => {} }
  const start = clock.now.getTime()
  const end = start + months * MONTH
  await using stores = await createStores(clock, { seed, end, tick })
  await using server = await startServer({ ...stores.environment, WEBHOOK_TOKEN })
  stores.stripe.fake.webhooks.send = (url, body, headers) =>
    server.send(new URL(url).pathname, body, headers)
  const serverId = (await server.call('readServerId', {})) ?? ''
  const agenda = createAgenda(tick)
  const customers: Customer[] = []
  const atStripe = new Map<string, Customer>()
  const losses: string[] = []
  const counts = { changes: 0, deliveries: 0, failedDeliveries: 0, checks: 0, kills: 0, memory: 0 }
  let requests: (() => Promise<void>)[] = []
  const paidMonths = { app_store: 0, play_store: 0, stripe: 0 }

  for (let at = 0; at < users; at++) agenda.add(start + random.upTo(MONTH), () => addCustomer(at))
  for (let at = start; at < end; at += MONTH) for (const store of STORES) addOutage(at, store)
  const killTimes = Array.from({ length: kills }, () => start + random.upTo(end - start)).sort()
  for (let time = start; time < end; time += tick) {
    await runTick(time)
    if ((time - start) % MONTH < tick) {
      counts.memory = Math.max(counts.memory, await server.residentMemory())
      logProgress(`month ${Math.floor((time - start) / MONTH)}: ${JSON.stringify(counts)}`)
    }
  }
  return { ...(await compare()), ...counts, losses, ...countRequests(stores, paidMonths) }

  async function runTick(time: number) {
    for (const { at, run } of agenda.takeUntil(time + tick)) {
      setClock(at)
      run()
    }
    setClock(time + tick)
    processStripeChanges()
    const isKill = killTimes[0] !== undefined && killTimes[0] <= time
    const working = sendAll().then(() => runJobs(time))
    if (isKill) {
      killTimes.shift()
      await Bun.sleep(random.upTo(60))
      await server.kill()
      counts.kills++
    }
    await working
    for (const { simulation } of customers)
      if (simulation.current().isActive) paidMonths[simulation.store] += tick / MONTH
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
    for (const { status } of await stores.stripe.fake.deliver()) {
      counts.deliveries++
      if (status !== 200) counts.failedDeliveries++
    }
  }

  /** Renewals, retries and repeated events. */
  function processStripeChanges() {
    stores.stripe.fake.runDue()
    for (const id of stores.stripe.takeChanged()) {
      const customer = atStripe.get(id)
      if (customer) report(customer, [], stores.stripe.askedWithin)
      counts.changes++
    }
  }

  function setClock(ms: number) {
    clock.now = new Date(ms)
    server.setTime(ms)
  }

  /** Adds a customer who buys in one store or in two. */
  function addCustomer(at: number) {
    const userId = random.uuid()
    const isShared = random.chance(0.3)
    if (at % 3 === 0) simulate(userId, stores.beginInAppStore(userId), isShared)
    if (at % 3 === 1 || at % 10 === 0)
      simulate(userId, stores.beginOnGooglePlay(userId), isShared && at % 3 === 1)
    if (at % 3 === 2 || at % 10 === 1) simulateAtStripe(userId, isShared && at % 3 === 2)
  }

  function addToCustomers(userId: string, simulation: Customer['simulation']): Customer {
    const never = Number.POSITIVE_INFINITY
    const customer = { userId, simulation, dueAt: never, detectableAt: never }
    customers.push(customer)
    return customer
  }

  function simulateAtStripe(userId: string, isShared: boolean) {
    const simulation = stores.stripe.begin(userId, serverId, (json) => {
      if (isShared) reportToProvider(json)
    })
    atStripe.set(simulation.id, addToCustomers(userId, simulation))
  }

  function simulate(userId: string, simulation: StoreSimulation, isShared: boolean) {
    const customer = addToCustomers(userId, simulation)
    reportChange(simulation.firstMessages, 'INITIAL_PURCHASE', null)
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
        reportChange(messages, type, isNew ? null : before.askedWithin)
        takeTurn()
      })
    }

    function reportChange(messages: StoreMessage[], type: string | null, within: number | null) {
      report(customer, messages, within)
      const at = clock.now.getTime()
      if (within === null)
        agenda.add(at + random.upTo(random.chance(0.9) ? MINUTE : DAY), () =>
          submit(customer, simulation),
        )
      if (isShared && type !== null) reportToProvider(simulation.providerEvent(type, at))
    }
  }

  /**
   * Sends the store's messages, and checks the customer's access later. `askedWithin`: how soon (ms) the server asks the
   * store without a message; null for a new purchase, which the app submits.
   */
  function report(customer: Customer, messages: StoreMessage[], askedWithin: number | null) {
    const at = clock.now.getTime()
    customer.dueAt = Number.POSITIVE_INFINITY
    customer.detectableAt = Number.POSITIVE_INFINITY
    if (askedWithin === 0) markDetectable(customer)
    else if (askedWithin !== null) agenda.add(at + askedWithin, () => markDetectable(customer))
    for (const message of messages)
      if (!random.chance(0.05)) sendLate(message, message.isAboutFormer ? null : customer)
    agenda.add(at + 5 * HOUR, () => check(customer))
    agenda.add(at + random.upTo(20 * DAY), () => check(customer))
  }

  function reportToProvider(json: object) {
    const message = { path: BILLING_PATH, attempt: () => ({ json, token: WEBHOOK_TOKEN }) }
    if (!random.chance(0.05)) sendLate(message, null)
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

  function submit(customer: Customer, simulation: StoreSimulation) {
    const { userId } = customer
    const purchases = [simulation.submission()] as never
    requests.push(async () => {
      const results = await server.call('submit', { userId, purchases })
      if (results !== null) return markDetectable(customer)
      agenda.add(clock.now.getTime() + DAY, () => submit(customer, simulation))
    })
  }

  /** A notification only says that something changed, so it counts once Google can be queried. */
  function markDetectable(customer: Customer | null) {
    if (customer === null) return
    const now = clock.now.getTime()
    customer.dueAt = Math.min(customer.dueAt, now)
    if (!stores.down.has(customer.simulation.store))
      customer.detectableAt = Math.min(customer.detectableAt, now)
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
      if (now > customer.detectableAt + STORE_GRACE_MS)
        losses.push(`${new Date(now).toISOString()} ${key}`)
    })
  }

  function addOutage(month: number, store: StoreName) {
    const from = month + random.upTo(MONTH - DAY)
    agenda.add(from, () => stores.setDown(store, true))
    agenda.add(from + 2 * HOUR + random.upTo(10 * HOUR), () => {
      stores.setDown(store, false)
      for (const customer of customers) {
        if (customer.dueAt <= clock.now.getTime()) markDetectable(customer)
      }
    })
  }

  /** Waits for the weekly checks, then compares every purchase with its store. */
  async function compare() {
    for (const store of stores.down) stores.setDown(store, false)
    for (let time = end; time < end + 8 * DAY; time += HOUR) await catchUp(time)
    // The server queries Stripe two seconds after an event.
    for (const seconds of [10, 20]) await catchUp(clock.now.getTime() + seconds * 1000)
    const rows = (await server.call('readPurchases', {})) ?? []
    const simulations = customers.map(({ simulation }) => simulation)
    return {
      ...compareWithStores(stores, simulations, rows, clock.now.getTime()),
      rebuilt: await server.call('rebuild', {}),
    }
  }

  async function catchUp(time: number) {
    const late = agenda.takeUntil(time)
    setClock(time)
    for (const { run } of late) run()
    processStripeChanges()
    await sendAll()
    await server.call('runJobs', { isHourly: true, isQuarterDaily: time % (6 * HOUR) === 0 })
  }
}
