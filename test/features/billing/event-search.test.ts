import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { EventFilter } from '../../../src/features/billing/inbox/event-search.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { bodyOf, deliver, lifecycle, ms, purchase, receive } from '../../support/billing.ts'
import { type OperatorBrowser, signInOperator } from '../../support/operator.ts'

const ALL_IDS = [
  'bought',
  'renewed',
  'tried',
  'moved',
  'news',
  'nonsense',
  'early',
  'failed',
  'twice',
]

test.each<[EventFilter, string[]]>([
  [{}, ALL_IDS],
  [{ type: 'INITIAL_PURCHASE' }, ['bought', 'failed', 'twice']],
  [{ type: 'RENEWAL' }, ['renewed', 'early']],
  [{ type: 'TRANSFER' }, ['moved']],
  [{ type: 'NEVER_SEEN' }, []],
  [{ environment: 'sandbox' }, ['tried']],
  [{ environment: 'production' }, ALL_IDS.filter((id) => id !== 'tried')],
  [{ outcome: 'failed' }, ['failed']],
  [{ outcome: 'ignored' }, ['news', 'nonsense']],
  [{ outcome: 'applied' }, ['bought', 'renewed', 'tried', 'moved', 'early', 'twice']],
  [{ user: 'ann' }, ['bought', 'renewed', 'tried']],
  [{ user: 'unknown' }, []],
  [{ conflicting: true }, ['twice']],
  [{ clockIsOff: true }, ['early']],
  [{ user: 'ann', environment: 'sandbox' }, ['tried']],
  [{ type: 'INITIAL_PURCHASE', outcome: 'failed' }, ['failed']],
  [{ type: 'RENEWAL', clockIsOff: true, environment: 'production' }, ['early']],
  [{ conflicting: true, clockIsOff: true }, []],
])('the filter %j finds %j, newest first', async (filter, expected) => {
  await using app = await createTestApp()
  await deliverAll(app)
  const { events, next } = await app.services.eventSearch.find(filter)
  expect(events.map(({ eventId }) => eventId)).toEqual(expected.toReversed())
  expect(next).toBeNull()
})

test('the console accepts the same filters and refuses others', async () => {
  await using app = await createTestApp()
  await deliverAll(app)
  const ann = await signInOperator(app)
  const ids = async (query: string) =>
    (await ann.read(`events?${query}`)).events.map(({ eventId }: { eventId: string }) => eventId)
  expect(await ids('conflicting=true')).toEqual(['twice'])
  expect(await ids('clockIsOff=true')).toEqual(['early'])
  expect(await ids('type=RENEWAL&user=ann')).toEqual(['renewed'])
  expect(await ids('outcome=failed&environment=production')).toEqual(['failed'])
  for (const query of ['outcome=lost', 'environment=test', 'conflicting=yes', 'other=1']) {
    expect((await ann.ask('GET', `events?${query}`)).status).toBe(422)
  }
  const { events } = await ann.read('overview')
  expect(events).toMatchObject({ failed: 1, conflicting: 1, clockIsOff: 1 })
  expect(events.latestAt).toBe(app.clock.now.toISOString())
})

test('lists events in pages of 50, each event once', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  for (let at = 0; at < 120; at++) {
    await receive(app, { type: 'NEWS', at: 0.5, id: `N${at}`, app_user_id: `user-${at % 2}` })
  }
  const ann = await signInOperator(app)
  const all = await pagesOf(ann, 'events?type=NEWS')
  expect(all.map(({ length }) => length)).toEqual([50, 50, 20])
  expect(all.flat()).toEqual(Array.from({ length: 120 }, (_, at) => `N${119 - at}`))
  const userPages = await pagesOf(ann, 'events?user=user-1')
  expect(userPages.map(({ length }) => length)).toEqual([50, 10])
  expect(new Set(userPages.flat()).size).toBe(60)
})

test('counts events with problems, up to 1,000 of each kind', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, { type: 'NEWS', at: 0.5, id: 'first' })
  expect(await app.services.eventSearch.countMarked()).toEqual({
    failed: 0,
    conflicting: 0,
    clockIsOff: 0,
  })
  const { billingEvents } = app.services.db.tables
  const [row] = await app.services.db.read.select().from(billingEvents)
  const rows = Array.from({ length: 1_005 }, (_, at) => ({
    ...(row as NonNullable<typeof row>),
    id: `${row?.id}-${at}`,
    eventId: `E${at}`,
    conflicting: true,
    clockIsOff: at < 7,
  }))
  await app.services.db.write(async (tx) => {
    for (let at = 0; at < rows.length; at += 335) {
      await tx.insert(billingEvents).values(rows.slice(at, at + 335))
    }
  })
  expect(await app.services.eventSearch.countMarked()).toEqual({
    failed: 0,
    conflicting: 1_000,
    clockIsOff: 7,
  })
})

test('replays the failed events that a filter matches', async () => {
  await using app = await createTestApp()
  await deliverAll(app)
  const ann = await signInOperator(app)
  const reply = await ann.ask('POST', 'events/replay', { json: { outcome: 'failed' } })
  expect(reply.text).toContain('"done":1,"failed":0')
  expect((await ann.read('events?outcome=failed')).events).toEqual([])
  const one = await ann.ask('POST', 'events/failed/replay')
  expect(one.json.response).toMatchObject({ outcome: 'applied', error: null })
  expect((await ann.ask('POST', 'events/none/replay')).status).toBe(404)
})

/** Delivers at least one event for every filter. */
async function deliverAll(app: TestApp) {
  app.clock.now = new Date(ms(2))
  await deliver(app, purchase('ann', { id: 'bought' }))
  await deliver(app, lifecycle('ann', 'RENEWAL', 1, { id: 'renewed', expiration_day: 31 }))
  const sandbox = { environment: 'SANDBOX', original_transaction_id: 'S' }
  await deliver(app, lifecycle('ann', 'CANCELLATION', 1, { id: 'tried', ...sandbox }))
  const moved = { transferred_from: ['bob'], transferred_to: ['eve'] }
  await deliver(app, { type: 'TRANSFER', at: 1, id: 'moved', ...moved })
  await deliver(app, { type: 'NEWS', at: 1, id: 'news', app_user_id: 'bob' })
  await deliver(app, { type: 'TEST', at: 1, id: 'nonsense' })
  await deliver(
    app,
    lifecycle('bob', 'RENEWAL', 30, {
      id: 'early',
      original_transaction_id: 'B',
      expiration_day: 60,
    }),
  )
  await deliver(app, purchase('eve', { id: 'failed', original_transaction_id: 'E' }))
  await deliver(app, purchase('carol', { id: 'twice', original_transaction_id: 'C' }))
  expect(await deliver(app, bodyOf(purchase('carol', { id: 'twice', price: 1 })))).toBe('duplicate')
  const { db } = app.services
  const { billingEvents } = db.tables
  const [row] = (await app.services.eventSearch.find({ user: 'eve' })).events
  await db.write(async (tx) => {
    const failure = { outcome: 'failed', error: 'the fold broke' }
    await tx
      .update(billingEvents)
      .set(failure)
      .where(eq(billingEvents.id, row?.id ?? ''))
  })
}

async function pagesOf(browser: OperatorBrowser, path: string): Promise<string[][]> {
  const pages: string[][] = []
  for (let next: string | null = ''; next !== null; ) {
    const page = await browser.read(next === '' ? path : `${path}&after=${next}`)
    pages.push(page.events.map(({ eventId }: { eventId: string }) => eventId))
    next = page.next
  }
  return pages
}
