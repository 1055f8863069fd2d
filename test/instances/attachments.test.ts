import { expect } from 'bun:test'
import { fetchFile, filesOf, uploadBody } from '../support/attachments.ts'
import { createTestInstances, mapConcurrently, testInstances, times } from '../support/instances.ts'
import { simulateDelay } from '../support/until.ts'

type Instances = Awaited<ReturnType<typeof createTestInstances>>

testInstances('concurrent uploads to both instances cannot exceed the quota', async () => {
  await using instances = await createTestInstances({ ATTACHMENT_QUOTA_COUNT: '3' })
  const { accessToken: token } = await instances.here.register()
  const replies = await mapConcurrently(times(20), () => upload(instances, token, 'x'))
  const statuses = replies.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([...Array(3).fill(200), ...Array(17).fill(403)])
  expect(await filesOf(instances.here)).toHaveLength(3)
})

testInstances('an upload sent to both instances with the same key is stored once', async () => {
  await using instances = await createTestInstances()
  const { accessToken: token } = await instances.here.register()
  for (const round of times(10)) {
    const replies = await mapConcurrently(times(10), () =>
      upload(instances, token, 'x', `k-${round}`),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(new Set(replies.map(({ json }) => json.response[0].key)).size).toBe(1)
    const { url } = replies[0]?.json.response[0] ?? {}
    expect((await fetchFile(instances.there, url)).status).toBe(200)
  }
  expect(await filesOf(instances.here)).toHaveLength(10)
})

testInstances(
  'the last upload within the quota can be repeated with the same key',
  async () => {
    for (const _round of times(10)) {
      await using instances = await createTestInstances({ ATTACHMENT_QUOTA_COUNT: '1' })
      const { accessToken: token } = await instances.here.register()
      const replies = await Promise.all(
        instances.both.map((app) =>
          uploadBody(app, token, 'x', 'text/plain', 'supportTicket', { 'idempotency-key': 'k' }),
        ),
      )
      expect(replies.map(({ status }) => status)).toEqual([200, 200])
    }
  },
  60_000,
)

testInstances('a different upload with the same key is refused by the other instance', async () => {
  await using instances = await createTestInstances()
  const { accessToken: token } = await instances.here.register()
  for (const round of times(20)) {
    const replies = await Promise.all(
      instances.both.map((app, at) =>
        uploadBody(app, token, `text ${at}`, 'text/plain', 'supportTicket', {
          'idempotency-key': `k-${round}`,
        }),
      ),
    )
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 422])
  }
  expect(await filesOf(instances.here)).toHaveLength(20)
})

testInstances(
  'an account deleted during uploads to the other instance leaves no files',
  async () => {
    await using instances = await createTestInstances()
    const { here, there } = instances
    const { attachments, users } = here.services.db.tables
    for (const round of times(10)) {
      const { accessToken: token } = await here.register()
      const uploads = times(10).map(() =>
        uploadBody(there, token, 'x', 'text/plain', 'supportTicket'),
      )
      await simulateDelay(round * 4)
      expect((await here.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
      for (const { status } of await Promise.all(uploads)) expect([200, 401]).toContain(status)
    }
    expect(await here.services.db.read.$count(users)).toBe(0)
    expect(await here.services.db.read.$count(attachments)).toBe(0)
    expect(await filesOf(here)).toEqual([])
  },
)

function upload({ balancer }: Instances, token: string, text: string, key?: string) {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  return uploadBody(balancer, token, text, 'text/plain', 'supportTicket', headers)
}
