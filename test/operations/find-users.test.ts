import { expect, test } from 'bun:test'
import { chunk } from '../../src/lib/concurrency/chunk.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { deliver, lifecycle, ms, purchase } from '../support/billing.ts'
import { signInOperator } from '../support/operator.ts'

const NO_MATCH = {
  users: [],
  next: null,
  unlinkedIds: [],
  purchaseIds: [],
  hasMoreNames: false,
  eventId: null,
  total: null,
  scannedTo: null,
}

test('finds users by the beginning of their address, ignoring case, in order', async () => {
  await using app = await createTestApp()
  for (const name of ['bob', 'ann.b', 'ann.a', 'hanna']) await app.register(`${name}@example.com`)
  expect(await findEmails(app, 'ann')).toEqual(['ann.a@example.com', 'ann.b@example.com'])
  for (const text of ['  ANN.B@Example ', 'Ann B. <ann.b@example.com>'])
    expect(await findEmails(app, text)).toEqual(['ann.b@example.com'])
  expect(await findEmails(app, 'b')).toEqual(['bob@example.com'])
  expect(await findEmails(app, 'example.com')).toEqual([])
  for (const wildcard of ['%', '_nn', 'ann%', '*', '\u{10ffff}']) {
    expect(await find(app, wildcard)).toEqual(NO_MATCH)
  }
})

test('without a query, lists all users in pages, newest first', async () => {
  await using app = await createTestApp()
  const created: string[] = []
  for (let at = 0; at < 60; at++) {
    created.push((await app.ask('POST', '/api/auth/guest/v1')).json.response.user._id)
  }
  const first = await app.services.findUsers('')
  const second = await app.services.findUsers('  ', { after: first.next ?? '' })
  expect([first.users.length, second.users.length, second.next]).toEqual([50, 10, null])
  const ids = [...first.users, ...second.users].map(({ id }) => id)
  expect(ids).toEqual(created.toReversed())
  expect(first.total).toBe(60)
  expect(second.total).toBeNull()
})

test('a user whose address and name match is listed once, on the page of the address', async () => {
  await using app = await createTestApp()
  const password = 'a long enough one'
  for (let at = 100; at < 160; at++) {
    const login = { email: `Ann${at}@example.com`, password, name: `Ann ${at}` }
    const place = { locale: 'en', timezone: 'utc', emailVerified: false }
    await app.services.users.passwordLogin.create({ ...login, ...place })
  }
  const first = await find(app, 'ann')
  const second = await app.services.findUsers('ann', { after: first.next ?? '' })
  const ids = [...first.users, ...second.users].map(({ id }) => id)
  expect([ids.length, new Set(ids).size]).toEqual([60, 60])
})

test('pages through addresses with the same beginning', async () => {
  await using app = await createTestApp()
  const { users } = app.services
  const password = 'a long enough one'
  for (let at = 100; at < 160; at++) {
    const login = { email: `ann${at}@example.com`, password, name: '' }
    await users.passwordLogin.create({
      ...login,
      locale: 'en',
      timezone: 'utc',
      emailVerified: false,
    })
  }
  const first = await find(app, 'ann')
  const second = await app.services.findUsers('ann', { after: first.next ?? '' })
  const found = [...first.users, ...second.users].map(({ email }) => email)
  expect(found).toEqual(Array.from({ length: 60 }, (_, at) => `ann${100 + at}@example.com`))
  expect(second.next).toBeNull()
})

test('finds users and guests by their id or its beginning', async () => {
  await using app = await createTestApp()
  const ann = (await app.register('ann@example.com')).user._id
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response.user._id
  expect(await findIds(app, ann)).toEqual([ann])
  expect(await findIds(app, guest)).toEqual([guest])
  expect(await findIds(app, ann.slice(0, -1))).toEqual([ann])
  expect(await findIds(app, ann.slice(1))).toEqual([])
})

test('finds a user by any of their app user ids or the beginning of a transaction id', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const ann = (await app.register('ann@example.com')).user._id
  const bob = (await app.register('bob@example.com')).user._id
  await deliver(app, {
    ...purchase(ann, { original_transaction_id: '700000000000001' }),
    aliases: ['$RCAnonymousID:ann', ann],
  })
  await deliver(app, purchase(bob, { original_transaction_id: 'GPA.7000-1', store: 'PLAY_STORE' }))
  const sandbox = { environment: 'SANDBOX', original_transaction_id: '2000000000000007' }
  await deliver(app, purchase(bob, sandbox))
  for (const text of ['$RCAnonymousID:ann', '700000000000001', '7000', ann]) {
    const { users, unlinkedIds } = await find(app, text)
    expect([text, users.map(({ id }) => id)]).toEqual([text, [ann]])
    expect(unlinkedIds).toEqual(['$RCAnonymousID:ann'])
  }
  expect(await findIds(app, 'GPA.7000')).toEqual([bob])
  expect(await findIds(app, '20000000')).toEqual([bob])
  expect(await find(app, '$RCAnonymousID:an')).toEqual(NO_MATCH)
  expect(await find(app, '00000000001')).toEqual(NO_MATCH)
  expect(await find(app, '700')).toEqual(NO_MATCH)
})

test('reports app user ids that have events but no account', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await deliver(app, purchase('web-visitor', { original_transaction_id: '900000000000001' }))
  const stranger = { ...NO_MATCH, unlinkedIds: ['web-visitor'] }
  expect(await find(app, 'web-visitor')).toEqual(stranger)
  const purchaseIds = ['900000000000001']
  for (const text of ['9000', 'order: 9000', ' Transaction ID #900000000000001'])
    expect(await find(app, text)).toEqual({ ...stranger, purchaseIds })
})

test('lists a user who matches in two ways only once', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const ann = (await app.register('ann1000@example.com')).user._id
  await deliver(app, {
    ...lifecycle(ann, 'INITIAL_PURCHASE', 0, { original_transaction_id: 'T' }),
    aliases: [ann, 'ann1000'],
  })
  await app.register('ann1000b@example.com')
  expect(await findEmails(app, 'ann1000')).toEqual(['ann1000@example.com', 'ann1000b@example.com'])
})

test('the console finds users and shows a single user', async () => {
  await using app = await createTestApp()
  const { user } = await app.register('bob@example.com')
  const reader = await signInOperator(app, { role: 'reader' })
  const found = await reader.read('people?q=BOB')
  expect(found.users).toMatchObject([
    { id: user._id, email: 'bob@example.com', emailVerified: false, loginType: 'email' },
  ])
  const shown = await reader.read(`people/${user._id}`)
  expect(shown).toMatchObject({ user: { _id: user._id }, identities: [], limits: [] })
  expect(shown.sessions).toHaveLength(1)
  expect(JSON.stringify(shown)).not.toMatch(/hash|secret|token/i)
  expect((await reader.ask('GET', 'people/nobody')).status).toBe(404)
  expect((await reader.ask('GET', `people?q=${'x'.repeat(301)}`)).status).toBe(422)
})

function find(app: TestApp, text: string) {
  return app.services.findUsers(text)
}

async function findIds(app: TestApp, text: string) {
  return (await find(app, text)).users.map(({ id }) => id)
}

async function findEmails(app: TestApp, text: string) {
  return (await find(app, text)).users.map(({ email }) => email)
}

test('finds users by the beginnings of the words in their names, even after a change', async () => {
  await using app = await createTestApp()
  const registerNamed = async (email: string, name: string) => {
    const { user, accessToken } = await app.register(email)
    await rename(app, accessToken, name)
    return { id: user._id as string, accessToken }
  }
  const zoe = await registerNamed('1@example.com', 'Zoë O’Brien-Smith')
  const adam = await registerNamed('2@example.com', 'Adam Smithson')
  const found = async (text: string) => (await find(app, text)).users.map(({ id }) => id).toSorted()
  expect(await found('smith')).toEqual([zoe.id, adam.id].toSorted())
  expect(await found('ZOE br')).toEqual([zoe.id])
  expect(await found('mith')).toEqual([])
  expect(await found('smith adam')).toEqual([adam.id])
  await rename(app, adam.accessToken, 'Eve')
  expect([await found('adam'), await found('eve')]).toEqual([[], [adam.id]])
  await app.services.deleteAccount(adam.id)
  expect(await found('eve')).toEqual([])
})

test('finds names from before the index once it is filled, and users by the beginning of their id', async () => {
  await using app = await createTestApp()
  const { user, accessToken } = await app.register('1@example.com')
  await rename(app, accessToken, 'Ann Miller')
  const { db, accounts } = app.services
  await db.write(async (tx) => {
    await tx.delete(db.tables.userNames)
    await tx.delete(db.tables.userBackfills)
  })
  expect((await find(app, 'miller')).users).toEqual([])
  await accounts.names.backfill(AbortSignal.timeout(5_000))
  expect((await find(app, 'miller')).users).toMatchObject([{ id: user._id }])
  expect((await find(app, user._id.slice(0, 13))).users).toMatchObject([{ id: user._id }])
})

test('finds a full name although thousands of users share its longest word', async () => {
  await using app = await createTestApp()
  await addUsers(app, 2_050, (at) => `Alexander B${at}`)
  const ids = await addUsers(app, 1, () => 'Alexander Smith')
  const { users, hasMoreNames } = await find(app, 'alexander smith')
  expect([users.map(({ id }) => id), hasMoreNames]).toEqual([ids, false])
  expect((await find(app, 'alexander b1')).hasMoreNames).toBe(true)
})

test('counts a user once whose name has several words with the same beginning', async () => {
  await using app = await createTestApp()
  const ids = await addUsers(app, 50, () => 'Ann Anna')
  const { users, hasMoreNames } = await find(app, 'ann')
  expect([users.map(({ id }) => id).toSorted(), hasMoreNames]).toEqual([ids, false])
  await addUsers(app, 1, () => 'Anna')
  expect((await find(app, 'ann')).hasMoreNames).toBe(true)
})

test('says that more user ids begin with the text than are listed', async () => {
  await using app = await createTestApp()
  const operator = await signInOperator(app)
  const ids = await addUsers(app, 50)
  const prefix = ids[0]?.slice(0, 8) ?? ''
  const { users, hasMoreNames } = await find(app, prefix)
  expect([users.map(({ id }) => id), hasMoreNames]).toEqual([ids, false])
  expect((await operator.ask('GET', `people/export.csv?q=${prefix}`)).status).toBe(200)
  await addUsers(app, 1)
  const more = await find(app, prefix)
  expect([more.users.length, more.hasMoreNames]).toEqual([50, true])
  expect((await operator.ask('GET', `people/export.csv?q=${prefix}`)).status).toBe(422)
})

test('finds the users of fifty purchases whose transaction ids begin with the text', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const ids = await addUsers(app, 50)
  for (const [at, id] of ids.entries())
    await deliver(app, purchase(id, { original_transaction_id: `7000${at}` }))
  const { users, unlinkedIds } = await find(app, '7000')
  expect([users.length, unlinkedIds]).toEqual([50, []])
})

/** Adds guests, and returns their ids, which have the same beginning. */
async function addUsers(app: TestApp, count: number, nameOf = (_at: number) => '') {
  const { db, accounts } = app.services
  const { users } = db.tables
  const known = await db.read.$count(users)
  const at = new Date(ms(0))
  const place = { locale: 'en', timezone: 'utc', currency: 'usd', onboardingCompleted: false }
  const rows = Array.from({ length: count }, (_, index) => {
    const id = `0190aaaa-0000-7000-8000-${String(known + index).padStart(12, '0')}`
    return { ...place, id, name: nameOf(index), loginType: 'guest', createdAt: at, updatedAt: at }
  })
  for (const batch of chunk(rows, 500)) {
    await db.write(async (tx) => {
      await tx.insert(users).values(batch)
      await accounts.names.add(tx, batch)
    })
  }
  return rows.map(({ id }) => id)
}

test('finds a customer by the transaction of any renewal, in any spelling', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const order = 'GPA.3300-1111-2222-00001'
  const ids = { original_transaction_id: order, store: 'PLAY_STORE' }
  await deliver(app, purchase(user._id, { ...ids, transaction_id: order }))
  await deliver(
    app,
    lifecycle(user._id, 'RENEWAL', 30, {
      ...ids,
      transaction_id: `${order}..0`,
      purchased_day: 30,
      expiration_day: 60,
    }),
  )
  await deliver(
    app,
    lifecycle(user._id, 'RENEWAL', 30, { transaction_id: '1001', expiration_day: 60 }),
  )
  for (const text of [
    order,
    `${order}..0`,
    `${order.toLowerCase()}..7`,
    '1000',
    '1001',
    ' 1001 ',
  ]) {
    expect([text, (await find(app, text)).users]).toMatchObject([text, [{ id: user._id }]])
  }
})

async function rename(app: TestApp, token: string, name: string) {
  const json = { profile: { name } }
  const { status, text } = await app.ask('PATCH', '/api/user/profile/v1', { token, json })
  if (status !== 200) throw new Error(text)
}
