import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { signIn } from '../../../support/app-store/world.ts'
import { onSqlite, sqliteClientOf } from '../../../support/databases.ts'
import { advance, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const DAY = 24 * 60 * 60_000

onSqlite('it reads the files of the database')(
  'the name and the e-mail address of a buyer are stored nowhere',
  async () => {
    await using world = await createPlayWorld()
    const { app, store, userId } = world
    const subscribeWithGoogle = { name: 'Zacharias Quibble', email: 'quibble@mail.example' }
    const bought = store.buy({ userId, subscribeWithGoogle })
    expect(bought.answer().subscribeWithGoogleInfo?.profileName).toBe(subscribeWithGoogle.name)
    await report(world, bought.notification)
    await world.submit([bought])
    const { answer } = bought
    Object.assign(bought, { answer: () => ({ ...answer(), lineItems: [] }) })
    await report(world, bought.cancel())
    expect((await listEvents(world)).at(-1)?.type).toBe('PLAY_UNREADABLE')
    const files = await contentOf(world)
    expect(files).toContain(userId)
    expect(files).not.toContain('Quibble')
    expect(files).not.toContain('quibble')
    expect(app.lines.join('')).not.toContain('uibble')
  },
)

onSqlite('it reads the files of the database')(
  'purchase tokens are stored encrypted only',
  async () => {
    await using world = await createPlayWorld()
    const { store, userId } = world
    const first = store.buy({ userId })
    await report(world, first.notification)
    const second = first.changeProduct('pro_year', 'immediate')
    await report(world, second.notification)
    await world.submit([second])
    const files = await contentOf(world)
    expect(files).toContain('linkedPurchaseToken')
    for (const { token } of [first, second]) expect(files).not.toContain(token)
  },
)

test('a renewal after the deletion of its user is recorded under a pseudonym', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })).status).toBe(200)
  app.clock.advance(30 * DAY)
  await report(world, bought.renew())
  const again = store.buyOnce({ userId })
  await report(world, again.notification)
  const events = await listEvents(world)
  expect(events.map(({ type }) => type)).toContain('RENEWAL')
  expect(events.map(({ type }) => type)).toContain('NON_RENEWING_PURCHASE')
  expect(events.filter(({ body }) => body.includes(userId))).toEqual([])
  expect(events.filter(({ body }) => body.includes('deleted:'))).not.toEqual([])
})

test('a deleted user leaves a purchase that another user can claim', async () => {
  await using world = await createPlayWorld()
  const { app, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  await app.ask('DELETE', '/api/user/profile/v1', { token: world.token })
  const other = await app.register()
  const { results } = await world.submit([bought], false, other.accessToken)
  expect(results).toMatchObject([{ outcome: 'bound' }])
  await advance(world, 30 * DAY)
  await report(world, bought.renew())
  const token = await signIn(app, other.user.email)
  expect((await world.submit([bought], false, token)).results).toMatchObject([{ outcome: 'known' }])
})

/** All bytes of the database as text. */
async function contentOf({ app }: Awaited<ReturnType<typeof createPlayWorld>>): Promise<string> {
  sqliteClientOf(app).run('PRAGMA wal_checkpoint(TRUNCATE)')
  const names = await readdir(app.dataDir, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const read = files.map(({ parentPath, name }) => Bun.file(join(parentPath, name)).bytes())
  return (await Promise.all(read)).map((bytes) => Buffer.from(bytes).toString('latin1')).join('\n')
}
