import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config.ts'
import { describeInsecureStore } from '../../src/features/attachments/storage/file-settings.ts'

const STORES: [string, boolean][] = [
  ['http://store.internal:9000', true],
  ['http://192.0.2.7:9000', true],
  ['https://store.internal', false],
  ['http://localhost:9000', false],
  ['http://127.0.0.1:9000', false],
]

test.each(STORES)('warns about a store at %s: %p', (endpoint, isExposed) => {
  const FILES_URL = `s3://bucket?endpoint=${endpoint}`
  const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret-key' }
  const sentence = describeInsecureStore(readConfig({}, { FILES_URL, ...keys }))
  expect(sentence !== null).toBe(isExposed)
  if (sentence !== null)
    expect(sentence).toStartWith(`FILES_URL points to ${new URL(endpoint).host}`)
})

test('does not warn about Amazon S3 or local files', () => {
  const keys = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret-key' }
  expect(describeInsecureStore(readConfig({}, { FILES_URL: 's3://bucket', ...keys }))).toBeNull()
  expect(describeInsecureStore(readConfig({}, {}))).toBeNull()
})
