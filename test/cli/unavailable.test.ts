import { expect, test } from 'bun:test'
import { describeForOperator } from '../../src/cli/unavailable.ts'
import { startStore } from '../support/s3-store.ts'

test('commands name the reply of an object store, and what to set', async () => {
  await using store = await startStore()
  const messageOf = async (work: Promise<unknown>) =>
    describeForOperator((await work.catch((error: unknown) => error)) as Error)
  expect(await messageOf(store.files({ bucket: 'wrong' }).open('a'))).toContain(
    'NoSuchBucket Injected error NoSuchBucket.: create the bucket, or correct FILES_URL.',
  )
  expect(await messageOf(store.files({ secretAccessKey: 'wrong' }).open('a'))).toContain(
    'check S3_ACCESS_KEY_ID',
  )
})
