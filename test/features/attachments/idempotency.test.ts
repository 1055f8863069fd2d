import { expect, test } from 'bun:test'
import { createIdempotencyStore } from '../../../src/features/attachments/upload/idempotency.ts'
import type { Row } from '../../../src/features/attachments/upload/prepare-upload.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'

test('returns the stored response if another instance stores the same upload first', async () => {
  await using app = await createTestApp()
  const upload = await storeConcurrently(app, 'the same', 'the same')
  expect(upload).toMatchObject([{ key: 'first.txt' }])
})

test('refuses an upload if another instance stores a different one first', async () => {
  await using app = await createTestApp()
  await expect(storeConcurrently(app, 'one', 'another')).rejects.toMatchObject({
    code: 'validation_failed',
  })
})

/** Stores an upload under a key while another instance stores one under the same key. */
async function storeConcurrently(app: TestApp, otherFingerprint: string, ownFingerprint: string) {
  const { db } = app.services
  const { user } = await app.register()
  const create = () => createIdempotencyStore({ db, now: () => app.clock.now })
  const rowOf = (key: string): Row => ({
    key,
    userId: user._id,
    type: 'supportTicket',
    fileName: key,
    itemType: 'text/plain',
    size: 4,
    width: null,
    height: null,
    createdAt: app.clock.now,
  })
  return create().once(user._id, 'k', ownFingerprint, async (recordReply) => {
    await create().once(user._id, 'k', otherFingerprint, async (recordFirstReply) => {
      await db.write((tx) => recordFirstReply(tx, [rowOf('first.txt')]))
      return [rowOf('first.txt')]
    })
    await db.write((tx) => recordReply(tx, [rowOf('second.txt')]))
    return [rowOf('second.txt')]
  })
}
