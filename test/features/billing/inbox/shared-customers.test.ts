import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import { deliver, lifecycle } from '../../../support/billing.ts'

const ANN = 'ann@example.com'
const FOREVER = { expiration_at_ms: Date.UTC(2100, 0) }

test.each([true, false])(
  'a deleted user leaves no data with another user of the same customer (first alias: %p)',
  async (isFirst) => {
    await using app = await createTestApp()
    const { user: ann, accessToken: token } = await app.register(ANN)
    const { user: bob, accessToken: ofBob } = await app.register()
    const attributes = { subscriber_attributes: { $email: { value: ANN } } }
    await deliver(app, lifecycle(ann._id, 'INITIAL_PURCHASE', 0, { ...FOREVER, ...attributes }))
    await deliver(
      app,
      lifecycle(bob._id, 'INITIAL_PURCHASE', 1, {
        ...{ transaction_id: '2', original_transaction_id: '2', original_app_user_id: ann._id },
        aliases: isFirst ? [ann._id, bob._id] : [bob._id, ann._id],
        ...FOREVER,
        ...attributes,
      }),
    )
    const exported = await app.services.exportData(ann._id)
    expect((exported['billingEvents'] as unknown[]).length).toBe(2)
    expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
    await app.services.backlog.flush()
    expect(await tablesWith(app, [ann._id, ANN])).toEqual([])
    const { changed } = await app.services.rebuildBilling(AbortSignal.timeout(10_000))
    expect(changed).toEqual([])
    expect(await tablesWith(app, [ann._id, ANN])).toEqual([])
    const path = '/api/user/subscription/v1'
    const { response } = (await app.ask('GET', path, { token: ofBob })).json
    expect(response.entitlements).toMatchObject([{ id: 'pro', active: true }])
  },
)

/** The tables that contain one of the texts. */
async function tablesWith({ services: { db } }: TestApp, texts: string[]): Promise<string[]> {
  const found: string[] = []
  for (const [name, table] of Object.entries(db.tables)) {
    const rows = await db.read.select().from(table as typeof db.tables.users)
    const text = JSON.stringify(rows, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value,
    )
    if (texts.some((one) => text.includes(one))) found.push(name)
  }
  return found
}
