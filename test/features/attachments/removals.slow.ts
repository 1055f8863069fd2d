import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, PATH, uploadBody } from '../../support/attachments.ts'
import { phonePhoto } from '../../support/pictures.ts'
import { startS3 } from '../../support/s3-server.ts'

const ACCOUNT = { bucket: 'files', accessKeyId: 'key', secretAccessKey: 'secret' }
const QUOTA = 200_000

test('an upload stays stored if the variants that it evicts cannot be deleted', async () => {
  await using setup = await startAppWithPicture()
  const { app, s3, token, url } = setup
  for (const width of [64, 128, 256]) await fetchFile(app, `${url}?width=${width}&format=png`)
  const { db } = app.services
  const { write } = db
  db.write = async (work) => {
    const result = await write(work)
    if (Array.isArray(result) && result.length > 0) s3.faults.slowDown = 3
    return result
  }
  const size = QUOTA - setup.size
  const stored = await uploadBody(app, token, 'x'.repeat(size), 'text/plain', 'supportTicket')
  expect(stored.status).toBe(200)
  const file = await fetchFile(app, stored.json.response[0].url)
  expect(await file.text()).toHaveLength(size)
}, 30_000)

test('deletions succeed within seconds while the store hangs', async () => {
  await using setup = await startAppWithPicture()
  const { app, s3, token, url, key } = setup
  s3.faults.hangs = true
  const startedAt = performance.now()
  expect((await app.ask('DELETE', `${PATH}?key=${key}`, { token })).status).toBe(200)
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
  expect(performance.now() - startedAt).toBeLessThan(14_000)
  expect((await fetchFile(app, url)).status).toBe(404)
}, 60_000)

async function startAppWithPicture() {
  const s3 = await startS3(ACCOUNT)
  const app = await createTestApp({
    ATTACHMENT_QUOTA_BYTES: String(QUOTA),
    FILES_URL: `s3://files/?endpoint=${s3.url}`,
    S3_ACCESS_KEY_ID: ACCOUNT.accessKeyId,
    S3_SECRET_ACCESS_KEY: ACCOUNT.secretAccessKey,
  })
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto(300, 200)
  const { json } = await uploadBody(app, token, photo, 'image/jpeg', 'publicAsset')
  const { url, key } = json.response[0]
  const record = await app.ask('GET', `${PATH}/download?key=${key}`, { token })
  const { size } = record.json.response
  return { s3, app, token, url, key, size, [Symbol.asyncDispose]: dispose }

  async function dispose() {
    await app[Symbol.asyncDispose]()
    await s3[Symbol.asyncDispose]()
  }
}
