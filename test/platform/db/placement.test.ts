import { afterEach, beforeEach, expect } from 'bun:test'
import { cp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { onSqlite } from '../../support/databases.ts'
import { fault } from '../../support/fault.ts'

const onFiles = onSqlite('a database server has its own files')
let app: TestApp
let dataDir = ''
let token = ''

beforeEach(async () => {
  app = await createTestApp()
  dataDir = app.dataDir
  app.expectErrors()
  token = (await app.register()).accessToken
  // An e-mail written to its folder would create the data directory again.
  await app.services.outbox.flush()
})

afterEach(async () => {
  await app[Symbol.asyncDispose]()
  for (const copy of ['old', 'new'])
    await rm(`${dataDir}.${copy}`, { recursive: true, force: true })
})

const database = () => join(dataDir, 'homeport.db')

onFiles.each([
  ['the database is removed', () => rm(database())],
  ['its log is removed', () => rm(`${database()}-wal`)],
  ['the index of its log is removed', () => rm(`${database()}-shm`)],
  ['the database is replaced', () => replaceWithCopy(database())],
  ['its log is replaced', () => replaceWithCopy(`${database()}-wal`)],
  ['the folder is removed', () => rm(dataDir, { recursive: true })],
  ['the folder is moved away', () => rename(dataDir, `${dataDir}.old`)],
  [
    'the folder is copied and replaced by a link',
    async () => {
      await cp(dataDir, `${dataDir}.new`, { recursive: true })
      await rename(dataDir, `${dataDir}.old`)
      await symlink(`${dataDir}.new`, dataDir)
    },
  ],
])(
  `when %s, changes get 503, reads work and the server is not ready ${fault('11a')}`,
  async (_, act) => {
    await act()
    const refused = await app.ask('POST', '/api/auth/guest/v1', { json: {} })
    expect([refused.status, refused.json.code]).toEqual([503, 'unavailable'])
    expect((await app.ask('GET', '/ready')).status).toBe(503)
    expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
    expect((await app.services.serverState()).faults.database).toContain('while the server uses it')
  },
)

onFiles('notices when a file replaces a folder, which works again once it is back', async () => {
  await rename(dataDir, `${dataDir}.old`)
  await writeFile(dataDir, '')
  expect((await app.ask('POST', '/api/auth/guest/v1', { json: {} })).status).toBe(503)
  await rm(dataDir)
  await rename(`${dataDir}.old`, dataDir)
  expect((await app.ask('POST', '/api/auth/guest/v1', { json: {} })).status).toBe(200)
})

onFiles('changes are accepted again once the database is back', async () => {
  await rename(database(), `${database()}.aside`)
  expect((await app.ask('POST', '/api/auth/guest/v1', { json: {} })).status).toBe(503)
  await rename(`${database()}.aside`, database())
  expect((await app.ask('POST', '/api/auth/guest/v1', { json: {} })).status).toBe(200)
})

onFiles('a folder that was moved and replaced by a link to it stays in use', async () => {
  await rename(dataDir, `${dataDir}.new`)
  await symlink(`${dataDir}.new`, dataDir)
  expect((await app.ask('POST', '/api/auth/guest/v1', { json: {} })).status).toBe(200)
})

async function replaceWithCopy(path: string) {
  await cp(path, `${path}.copy`)
  await rename(`${path}.copy`, path)
}
