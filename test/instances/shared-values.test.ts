import { expect } from 'bun:test'
import { createApp } from '../../src/server/app.ts'
import type { TestApp } from '../support/app.ts'
import { ecbXml, startFeed } from '../support/feed.ts'
import { createTestInstances, mapConcurrently, testInstances, times } from '../support/instances.ts'
import { messagesFor } from '../support/messages.ts'
import { startSmtp } from '../support/smtp.ts'
import { until, yieldToEventLoop } from '../support/until.ts'

const SETTINGS = '/api/user/app_settings/v1'
const PROFILE = '/api/user/profile/v1'
const SECOND = 1_000
/** Extra time allowed on a busy machine, in ms. */
const SLACK = 2_000

testInstances('edits on one instance are visible on the other within a second', async () => {
  const rates = await Bun.file('data/seed/rates.json').json()
  const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString().slice(0, 10)
  using feed = startFeed(() => new Response(ecbXml(tomorrow, { ...rates.rates, USD: 1.15 })))
  const environment = { RATES_PROVIDER: 'ecb', RATES_URL: feed.url }
  await using instances = await createTestInstances(environment)
  const { here, there, clock } = instances
  clock.advance(48 * 3_600_000)
  const read = async ({ services }: TestApp) => ({
    email: (await services.settings.read()).supportEmail,
    plans: (await services.plans.list()).length,
    faqs: (await services.content.readFaqs()).length,
    rates: (await services.rates.read()).updatedAt,
  })
  const before = await read(there)
  const [plan] = await here.services.plans.list()
  await here.services.plans.archive(plan?.code ?? '')
  await here.services.content.publish([])
  await here.services.settings.set({ supportEmail: 'new@example.com' })
  const refreshed = await here.services.rates.refresh(AbortSignal.timeout(5_000))
  expect(refreshed.outcome).toBe('stored')
  const after = await read(here)
  expect(after).toMatchObject({ email: 'new@example.com', plans: before.plans - 1, faqs: 0 })
  expect(after.rates).not.toBe(before.rates)
  const isSeen = async () => Bun.deepEquals(await read(there), after)
  await until(isSeen, 'the edits are not visible', { deadlineMs: SECOND + SLACK })
})

testInstances(
  'a new content version is announced once every instance serves the content',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const read = () => there.services.content.readVersions()
    const before = await read()
    // Both have just cached the old questions.
    for (const { services } of [here, there]) await services.content.readFaqs()
    await here.services.content.publish([])
    expect((await read()).faqs).toBe(before.faqs + 1)
    for (const { services } of [here, there]) expect(await services.content.readFaqs()).toEqual([])
  },
)

testInstances(
  'an editor never gets old content with the version of a new publication',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const [plan] = await here.services.plans.list()
    await Promise.all([there.services.settings.read(), there.services.content.readFaqs()])
    await here.services.settings.set({ supportEmail: 'new@example.com' })
    await here.services.plans.archive(plan?.code ?? '')
    await here.services.content.publish([])
    for (const { services } of [there, here]) {
      const { version, content } = await services.settings.readLive()
      expect([version, content.supportEmail]).toEqual([expect.any(Number), 'new@example.com'])
      const codes = (await services.plans.readLive()).content.map(({ code }) => code)
      expect(codes).not.toContain(plan?.code)
      expect((await services.content.readLive()).content).toEqual([])
    }
  },
)

testInstances(
  'a changed setting can be read back immediately, even with concurrent readers',
  async () => {
    await using instances = await createTestInstances()
    const { here, both } = instances
    let isOver = false
    const readers = both.map(async ({ services }) => {
      while (!isOver) {
        await services.settings.read()
        await yieldToEventLoop()
      }
    })
    const read: string[] = []
    for (const at of times(100)) {
      await here.services.settings.set({ supportEmail: `e${at}@a.test` })
      read.push((await here.services.settings.read()).supportEmail)
    }
    isOver = true
    await Promise.all(readers)
    expect(read).toEqual(times(100).map((at) => `e${at}@a.test`))
  },
)

testInstances(
  'concurrent changes to different settings on both instances are all kept',
  async () => {
    await using instances = await createTestInstances()
    const [here, there] = instances.both.map(({ services }) => services.settings)
    for (const at of times(10)) {
      const [email, version] = [`e${at}@a.test`, `2.${at}.0`]
      await Promise.all([
        here?.set({ supportEmail: email }),
        there?.set({ 'ios.latestVersion': version }),
      ])
      await yieldToEventLoop()
    }
    for (const { services } of instances.both) {
      const areKept = async () => {
        const { supportEmail, ios } = await services.settings.read()
        return supportEmail === 'e9@a.test' && ios.latestVersion === '2.9.0'
      }
      await until(areKept, 'a change was lost', { deadlineMs: SECOND + SLACK })
    }
  },
)

testInstances(
  'an e-mail is sent once, even if both instances send e-mails',
  async () => {
    await using smtp = await startSmtp()
    await using instances = await createTestInstances({ SMTP_URL: smtp.url })
    const { both, here } = instances
    const emails = times(30).map((at) => `p${at}@example.com`)
    await mapConcurrently(emails, async (email) => {
      await instances.balancer.register(email)
      await Promise.all(both.map(({ services }) => services.outbox.flush()))
    })
    while ((await here.services.outbox.count()) > 0) {
      await Promise.all(both.map(({ services }) => services.outbox.flush()))
    }
    expect(smtp.mails.map(({ to }) => to).toSorted()).toEqual(emails.toSorted())
  },
  60_000,
)

testInstances('e-mails that take a long time to deliver are also sent once', async () => {
  await using instances = await createTestInstances()
  const { here, there, clock } = instances
  const sent: unknown[] = []
  for (const { services } of instances.both) {
    services.outbox.deliverWith(async (message) => {
      sent.push((message as unknown as { number: number }).number)
      // A mail server may take this long to answer.
      if (services === here.services) clock.advance(9 * SECOND)
      if (sent.length === 15) await there.services.outbox.flush()
    })
  }
  await here.services.db.write(async (tx) => {
    for (const number of times(20)) {
      const handling = { priority: 0, userId: null, source: null }
      await here.services.outbox.add(tx, { kind: 'test', number } as never, handling)
    }
  })
  await here.services.outbox.flush()
  expect(sent.toSorted()).toEqual(times(20).toSorted())
})

testInstances('a scheduled job is claimed by one of twelve instances', async () => {
  await using instances = await createTestInstances()
  for (const minute of times(10)) {
    const slot = new Date(Date.UTC(2026, 0, 1, 0, minute))
    const claims = await Promise.all(
      times(12).map((at) => instances.both[at % 2]?.services.db.claimJob('sweep', slot)),
    )
    expect(claims.filter(Boolean)).toHaveLength(1)
  }
})

testInstances(
  'a job that ran early because of a wrong clock runs again at the right time',
  async () => {
    await using instances = await createTestInstances()
    const { db } = instances.here.services
    const slot = new Date(Date.UTC(2026, 0, 1))
    expect(await db.claimJob('sweep', new Date(Date.UTC(2027, 0, 1)))).toBe(true)
    expect(await db.claimJob('sweep', slot)).toBe(true)
    expect(await instances.there.services.db.claimJob('sweep', slot)).toBe(false)
  },
)

testInstances('a sealed message accepted by one instance is refused by the other', async () => {
  await using instances = await createTestInstances()
  const { here, there, balancer } = instances
  const { accessToken } = await here.register()
  const { post, patchName } = await messagesFor(here)
  const elsewhere = await messagesFor(there)
  const message = patchName(accessToken, 'Ann')
  expect((await post('PATCH', PROFILE, message)).status).toBe(200)
  const again = await elsewhere.post('PATCH', PROFILE, message)
  expect([again.status, again.json.code]).toEqual([409, 'encryption_replay'])
  const balanced = await messagesFor(balancer)
  const parallel = patchName(accessToken, 'Bob')
  const replies = await mapConcurrently(times(20), () => balanced.post('PATCH', PROFILE, parallel))
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(409)])
})

testInstances('keys rotated on one instance are known to the other within 2 s', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  const { accessToken: token } = await here.register()
  const old = await messagesFor(there)
  const message = old.seal({ head: { htu: SETTINGS } })
  expect(await publishedKeyIds(there)).toEqual(await publishedKeyIds(here))
  for (const ring of ['encryptionKeys', 'signingKeys'] as const) {
    await here.services[ring].rotate(false)
  }
  await waitForSameKeys(here, there)
  expect(await publishedKeyIds(there)).toHaveLength(4)
  for (const ring of ['encryptionKeys', 'signingKeys'] as const) {
    await here.services[ring].rotate(true)
  }
  await waitForSameKeys(here, there)
  expect(await publishedKeyIds(there)).toHaveLength(2)
  expect((await there.ask('GET', PROFILE, { token })).status).toBe(401)
  expect((await old.get(SETTINGS, message)).json.code).toBe('encryption_unknown_key')
})

testInstances(
  'concurrent key rotations leave the same keys on both instances',
  async () => {
    await using instances = await createTestInstances()
    for (const _round of times(5)) {
      const changes = instances.both.map(({ services }) => services.signingKeys.rotate(true))
      const failed = (await Promise.allSettled(changes)).filter(
        ({ status }) => status === 'rejected',
      )
      expect(failed.length).toBeLessThan(2)
      await waitForSameKeys(instances.here, instances.there)
    }
    const { accessToken: token } = await instances.here.register()
    expect((await instances.there.ask('GET', PROFILE, { token })).status).toBe(200)
  },
  60_000,
)

/** Waits until both instances publish the same keys. */
async function waitForSameKeys(here: TestApp, there: TestApp) {
  const areSame = async () =>
    Bun.deepEquals(await publishedKeyIds(here), await publishedKeyIds(there))
  await until(areSame, 'the keys differ', { deadlineMs: 2 * SECOND + SLACK })
}

async function publishedKeyIds({ services }: TestApp): Promise<string[]> {
  const reply = await createApp(services).handle(
    new Request('http://localhost/.well-known/jwks.json'),
  )
  const { keys } = (await reply.json()) as { keys: { kid: string }[] }
  return keys.map(({ kid }) => kid)
}

testInstances('an instance knows how far its clock is ahead of the database server', async () => {
  await using instances = await createTestInstances()
  const { db } = instances.here.services
  // Server and test are on one machine.
  expect(Math.abs((await db.clockSkew(Date.now)) ?? Number.NaN)).toBeLessThan(1_000)
  const ahead = await db.clockSkew(() => Date.now() + 1_137_000)
  expect(ahead).toBeWithin(1_136_000, 1_138_000)
})
