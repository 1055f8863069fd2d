import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { DAY, deliver, purchase, T0 } from '../../support/billing.ts'

type Guest = { accessToken: string; refreshToken: string; user: { _id: string } }

test('removes guests idle for 90 days and their files, but no registered users', async () => {
  await using app = await createTestApp()
  const idle = await startGuest(app)
  await upload(app, idle)
  const registered = await app.register()
  app.clock.advance(91 * DAY)
  expect(await sweep(app)).toEqual([registered.user._id])
  expect(await app.services.db.read.$count(app.services.db.tables.attachments)).toBe(0)
})

test('an idle guest stays while a purchase gives access, and for 90 days after', async () => {
  await using app = await createTestApp()
  const yearly = await buy(app, { days: 365 })
  const sandbox = await buy(app, { days: 365, environment: 'SANDBOX' })
  const lifetime = await buy(app, { days: null, type: 'NON_RENEWING_PURCHASE' })
  const lapsed = await buy(app, { days: 20 })
  await buy(app, { days: 5 })
  app.clock.advance(99 * DAY)
  expect(await sweep(app)).toEqual([yearly, sandbox, lifetime, lapsed])
  app.clock.advance(20 * DAY)
  expect(await sweep(app)).toEqual([yearly, sandbox, lifetime])
})

test('an idle guest stays for 90 days after their last file', async () => {
  await using app = await createTestApp()
  const guest = await startGuest(app)
  await startGuest(app)
  app.clock.advance(20 * DAY)
  await upload(app, await refresh(app, guest))
  // Only the file remains from that visit.
  await deleteDevices(app)
  app.clock.advance(79 * DAY)
  expect(await sweep(app)).toEqual([guest.user._id])
  app.clock.advance(20 * DAY)
  expect(await sweep(app)).toEqual([])
})

test('an idle guest stays 90 days after a device was last seen, even if signed out', async () => {
  await using app = await createTestApp()
  const active = await startGuest(app)
  const signedOut = await startGuest(app)
  await startGuest(app)
  app.clock.advance(20 * DAY)
  await refresh(app, active)
  const token = (await refresh(app, signedOut)).accessToken
  await app.ask('POST', '/api/auth/logout/v1', { token })
  app.clock.advance(79 * DAY)
  expect(await sweep(app)).toEqual([active.user._id, signedOut.user._id])
  expect(await app.services.db.read.$count(app.services.db.tables.sessions)).toBe(0)
  app.clock.advance(20 * DAY)
  expect(await sweep(app)).toEqual([])
})

async function startGuest(app: TestApp): Promise<Guest> {
  return (await app.ask('POST', '/api/auth/guest/v1')).json.response
}

async function refresh(app: TestApp, { refreshToken }: Guest): Promise<Guest> {
  return (await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })).json.response
}

function upload(app: TestApp, { accessToken: token }: Guest) {
  const headers = { 'content-type': 'text/plain' }
  return app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token,
    body: 'text',
    headers,
  })
}

/** Creates a guest with a purchase for `days` (null: for life), and returns their id. */
async function buy(
  app: TestApp,
  { days, ...fields }: { days: number | null } & Record<string, unknown>,
) {
  const { _id } = (await startGuest(app)).user
  const at = (app.clock.now.getTime() - T0) / DAY
  const expiration_day = days === null ? null : at + days
  const transaction = { transaction_id: _id, original_transaction_id: _id }
  const bought = { at, purchased_day: at, expiration_day, ...transaction, ...fields }
  await deliver(app, { ...purchase(_id), ...bought })
  return _id
}

async function deleteDevices({ services: { db } }: TestApp) {
  await db.write(async (tx) => {
    for (const table of [db.tables.sessions, db.tables.knownDevices]) await tx.delete(table)
  })
}

/** Runs the nightly jobs for sessions and guests; returns the sorted ids of the remaining users. */
async function sweep({ services: { users, db } }: TestApp): Promise<string[]> {
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  await users.guests.sweep(AbortSignal.timeout(5_000))
  const rows = await db.read.select({ id: db.tables.users.id }).from(db.tables.users)
  return rows.map(({ id }) => id).toSorted()
}
