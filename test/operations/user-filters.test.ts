import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../support/app.ts'
import { DAY, deliver, ms, purchase } from '../support/billing.ts'
import { runCommand } from '../support/commands.ts'
import { signInOperator } from '../support/operator.ts'

type Row = { email: string }

describe('filters', () => {
  test('each list the users that they describe', async () => {
    await using app = await populate()
    const found = async (query: string) => (await list(app, query)).toSorted()
    expect(await found('plan=pro_month')).toEqual(['bea', 'cem'])
    expect(await found('plan=none')).toEqual([])
    expect(await found('guest=true')).toEqual([''])
    expect(await found('guest=false')).toEqual(['ann', 'bea', 'cem', 'dan'])
    expect(await found('platform=ios')).toEqual(['ann', 'bea'])
    expect(await found('platform=web')).toEqual([])
    expect(await found('country=br')).toEqual(['bea', 'cem'])
    expect(await found('createdFrom=2026-10-03')).toEqual(['', 'cem', 'dan'])
    expect(await found('createdTo=2026-10-03')).toEqual(['ann', 'bea', 'cem'])
    expect(await found('createdFrom=2026-10-02&createdTo=2026-10-02')).toEqual(['bea'])
    expect(await found('seenWithin=3')).toEqual(['', 'ann'])
    expect(await found('notSeenFor=5')).toEqual(['bea', 'dan'])
    expect(await found('seenWithin=6&notSeenFor=3')).toEqual(['cem'])
  })

  test('combine, whatever index is used', async () => {
    await using app = await populate()
    expect(await list(app, 'plan=pro_month&country=BR&platform=android')).toEqual(['cem'])
    expect(await list(app, 'status=none&guest=false&platform=ios')).toEqual(['ann'])
    expect(await list(app, 'country=BR&notSeenFor=5&createdTo=2026-10-02')).toEqual(['bea'])
    expect(await list(app, 'status=none&plan=pro_month')).toEqual([])
    expect(await list(app, 'status=expired&plan=pro_month')).toEqual([])
  })

  test('apply to the results of a search too', async () => {
    await using app = await populate()
    expect(await list(app, 'q=b&status=paying')).toEqual(['bea'])
    expect(await list(app, 'q=b&platform=android')).toEqual([])
  })

  test('page through all matches, each once, newest or last seen first', async () => {
    await using app = await createTestApp()
    const { db } = app.services
    const at = Date.UTC(2026, 0, 1)
    const rows = Array.from({ length: 130 }, (_, index) => ({
      id: `user-${String(index).padStart(3, '0')}`,
      loginType: index % 2 === 0 ? 'email' : 'guest',
      name: '',
      locale: 'en',
      timezone: 'utc',
      currency: 'usd',
      onboardingCompleted: false,
      // Ids and times run in opposite directions, and every second time occurs twice.
      createdAt: new Date(at - Math.floor(index / 2) * DAY),
      updatedAt: new Date(at),
      lastSeenAt: new Date(at - Math.floor(index / 2) * DAY),
      platform: 'ios',
      country: 'DE',
    }))
    await db.write(async (tx) => void (await tx.insert(db.tables.users).values(rows)))
    app.clock.now = new Date(at + DAY)
    const descending = rows.map(({ id }) => id).toReversed()
    const inPairs = rows.map(
      ({ id }, index) => rows[index % 2 === 0 ? index + 1 : index - 1]?.id ?? id,
    )
    for (const query of ['platform=ios', 'country=DE', 'platform=ios&country=DE']) {
      expect(await pageThrough(app, query)).toEqual(descending)
    }
    for (const query of ['createdTo=2026-12-31', 'seenWithin=3000', 'seenWithin=3000&country=DE']) {
      expect(await pageThrough(app, query)).toEqual(inPairs)
    }
    expect(await pageThrough(app, 'guest=true&platform=ios')).toEqual(
      descending.filter((_, index) => index % 2 === 0),
    )
  })

  test('scan a bounded number of users per page, and report how far they got', async () => {
    await using app = await createTestApp()
    await addUsers(app, 12_500)
    const browser = await signInOperator(app)
    const first = await browser.read('people?status=none&country=IS&platform=ios')
    expect(first).toMatchObject({ users: [], total: null, scannedTo: { id: 'user-08501' } })
    expect(await pageThrough(app, 'country=IS&platform=ios')).toEqual(['user-00007'])
    expect((await browser.read('people?platform=ios')).total).toBe(1_001)
    expect((await browser.read('people?platform=ios&country=IS')).total).toBeNull()
  })

  test('refuse invalid values', async () => {
    await using app = await createTestApp()
    const browser = await signInOperator(app)
    const invalid = [
      ...['status=rich', 'guest=maybe', 'platform=windows', 'createdFrom=2026-02-31'],
      ...['createdTo=yesterday', 'seenWithin=0', 'notSeenFor=x', 'after=x&platform=ios'],
    ]
    for (const query of invalid) {
      const { status, json } = await browser.ask('GET', `people?${query}`)
      expect([query, status, json.details?.length]).toEqual([query, 422, 1])
    }
    expect((await browser.ask('GET', 'people?unknown=1')).status).toBe(422)
  })

  test('are options of the command', async () => {
    await using app = await populate()
    const { outcome, printed } = await runCommand(app, 'user list', [], {
      platform: 'ios',
      status: 'none',
    })
    expect(outcome.users).toMatchObject([{ email: 'ann@example.com', status: 'none' }])
    expect(printed).toContain('ann@example.com')
    const cem = await runCommand(app, 'user list', ['c'], { createdTo: '2026-10-31' })
    expect(cem.outcome.users).toMatchObject([{ email: 'cem@example.com' }])
  })
})

/** Ann, an iOS user from Germany; Bea and Cem, who pay; Dan, who has never been seen; and a guest. */
async function populate() {
  const app = await createTestApp()
  const { db } = app.services
  const { users } = db.tables
  const people = [
    { name: 'ann', day: 0, seen: 9, platform: 'ios', country: 'DE' },
    { name: 'bea', day: 1, seen: 1, platform: 'ios', country: 'BR' },
    { name: 'cem', day: 2, seen: 5, platform: 'android', country: 'BR' },
    { name: 'dan', day: 3, seen: null, platform: null, country: null },
  ]
  for (const { name, day, seen, platform, country } of people) {
    app.clock.now = new Date(ms(day))
    const { user } = await app.register(`${name}@example.com`)
    if (country === 'BR')
      await deliver(app, {
        ...purchase(user._id),
        transaction_id: name,
        original_transaction_id: name,
      })
    const lastSeenAt = new Date(seen === null ? 0 : ms(seen))
    const facts = { platform, country, lastSeenAt }
    await db.write(
      async (tx) => void (await tx.update(users).set(facts).where(eq(users.id, user._id))),
    )
  }
  app.clock.now = new Date(ms(10))
  await app.ask('POST', '/api/auth/guest/v1')
  return app
}

/** Adds users: many on iOS, many from Iceland, but only one of both. */
async function addUsers({ services: { db } }: TestApp, count: number) {
  const at = new Date(Date.UTC(2026, 0, 1))
  for (let from = 0; from < count; from += 500) {
    const rows = Array.from({ length: 500 }, (_, offset) => {
      const index = from + offset
      return {
        id: `user-${String(index).padStart(5, '0')}`,
        loginType: 'email',
        name: '',
        locale: 'en',
        timezone: 'utc',
        currency: 'usd',
        onboardingCompleted: false,
        createdAt: at,
        updatedAt: at,
        platform: index < 8 || index % 2 === 0 ? 'ios' : 'android',
        country: index === 7 || (index > 8 && index % 2 === 1) ? 'IS' : 'DE',
      }
    })
    await db.write(async (tx) => void (await tx.insert(db.tables.users).values(rows)))
  }
}

/** The names in the addresses of the users that match. */
async function list(app: TestApp, query: string): Promise<string[]> {
  const browser = await signInOperator(app, { name: crypto.randomUUID().slice(0, 8) })
  const { users } = await browser.read(`people?${query}`)
  return users.map(({ email }: Row) => email.split('@')[0])
}

/** The ids on all pages of a filtered list. */
async function pageThrough(app: TestApp, query: string): Promise<string[]> {
  const browser = await signInOperator(app, { name: crypto.randomUUID().slice(0, 8) })
  const ids: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const page = await browser.read(`people?${query}${cursor}`)
    ids.push(...page.users.map(({ id }: { id: string }) => id))
    after = page.next
  }
  return ids
}
