import { expect, test } from 'bun:test'
import { describeForOperator } from '../../src/cli/unavailable.ts'
import { startStore } from '../support/s3-store.ts'

const REPLY = 'The storage is unavailable. S3 answered'

test('commands show the response from an object store and which setting to change', async () => {
  await using store = await startStore()
  expect(await messageOf(store.files({ bucket: 'wrong' }).open('a'))).toBe(
    `${REPLY} GET a with 404 NoSuchBucket Injected error NoSuchBucket: create the bucket, or correct FILES_URL or BACKUP_DIR.`,
  )
  expect(await messageOf(store.files({ accessKeyId: 'wrong' }).open('a'))).toContain(
    ': check S3_ACCESS_KEY_ID, for backups',
  )
  expect(await messageOf(store.files({ secretAccessKey: 'wrong' }).open('a'))).toContain(
    ': check S3_SECRET_ACCESS_KEY, for backups',
  )
  const { key } = await store.keep('a')
  store.s3.faults.locked = `home/${key}`
  expect(await messageOf(store.files().remove(key))).toContain('end the Object Lock')
})

test.each([
  [403, 'AccessDenied', 'check S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY'],
  [403, 'RequestTimeTooSkewed', 'synchronize the clock'],
  [301, 'PermanentRedirect', 'set the endpoint and region in FILES_URL'],
  [400, 'AuthorizationQueryParametersError', 'set the endpoint and region in FILES_URL'],
  [400, 'ExpiredToken', 'renew S3_SESSION_TOKEN'],
  [503, 'SlowDown', 'the store limits requests'],
])(
  'explains which setting to change after the response %i %s from an object store',
  async (status, code, advice) => {
    await using server = Bun.serve({
      port: 0,
      fetch: () => new Response(`<Error><Code>${code}</Code></Error>`, { status }),
    })
    await using store = await startStore()
    const client = store.client({ endpoint: server.url.origin })
    expect(await messageOf(client.getText('a'))).toContain(`${status} ${code}: ${advice}`)
    expect(await messageOf(client.list().next())).toContain(advice)
  },
)

async function messageOf(work: Promise<unknown>): Promise<string> {
  return describeForOperator((await work.catch((error: unknown) => error)) as Error)
}
