import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp } from '../../support/app.ts'

const TOO_LARGE = 2_611_281_530

test.each(['/docs/json', '/docs/server/json'])(
  'every integer of %s declares its format and range',
  async (path) => {
    await using app = await createTestApp()
    const { json } = await app.ask('GET', path)
    const integers: Record<string, unknown>[] = []
    JSON.parse(JSON.stringify(json), (_key, node) => {
      if (node?.type === 'integer') integers.push(node)
      return node
    })
    expect(integers.length).toBeGreaterThan(5)
    for (const { format, minimum, maximum } of integers) {
      expect([typeof minimum, typeof maximum]).toEqual(['number', 'number'])
      expect(format).toBe(Number(maximum) > 2 ** 31 - 1 ? 'int64' : 'int32')
    }
  },
)

test('numbers that apps cannot read are refused with the reason', async () => {
  await using app = await createTestApp()
  const { settings, plans } = app.services
  const refused = { details: [{ message: expect.stringContaining('2147483647') }] }
  expect(settings.set({ 'ios.latestBuildNumber': TOO_LARGE })).rejects.toMatchObject(refused)
  const [plan] = await plans.list()
  for (const field of ['appLimit', 'trialDays', 'apiRequestLimit'])
    expect(plans.publish([{ ...plan, [field]: 10_000_000_000 }])).rejects.toMatchObject(refused)
})

test('returns the largest number that apps can read for larger stored ones', async () => {
  await using app = await createTestApp()
  const { db, settings, plans } = app.services
  const { settings: table, plans: planTable } = db.tables
  const { ios } = await settings.read()
  const [plan] = await plans.list()
  const { _id, code: _code, ...fields } = plan as NonNullable<typeof plan>
  const rules = { 'ios.latestBuildNumber': [{ when: { platform: 'ios' }, value: TOO_LARGE }] }
  await db.write(async (tx) => {
    const value = { ...ios, latestBuildNumber: TOO_LARGE }
    await tx.update(table).set({ value }).where(eq(table.key, 'ios'))
    await tx.insert(table).values({ key: 'rules', value: rules })
    const large = { ...fields, appLimit: 10_000_000_000 }
    await tx.update(planTable).set({ fields: large }).where(eq(planTable.id, _id))
  })
  await settings.set({ supportEmail: 'a@example.com' })
  await plans.archive('none').catch(() => {})
  const read = await app.ask('GET', '/api/user/app_settings/v1', {
    headers: { 'app-platform': 'ios' },
  })
  expect([read.status, read.json.response.ios.latestBuildNumber]).toEqual([200, 2_147_483_647])
})
