import { expect, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { s3Url } from '../../../src/config/values.ts'
import { createClock, createTestApp, type TestApp } from '../../support/app.ts'
import { uploadBody } from '../../support/attachments.ts'
import { createTestDatabase, onSqlite } from '../../support/databases.ts'
import { testInstances } from '../../support/instances.ts'
import { startS3 } from '../../support/s3-server.ts'

const ACCOUNT = { bucket: 'files', accessKeyId: 'key', secretAccessKey: 'secret' }
const OVER_AN_HOUR = 61 * 60_000
const OVER_A_MONTH = 31 * 24 * OVER_AN_HOUR

test('a second server with another database deletes nothing from the store, and reports that', async () => {
  await using setup = await startStore()
  const { s3, open } = setup
  const production = await open()
  const key = await upload(production)
  for (const hasUsers of [false, true]) {
    const staging = await open()
    const own = hasUsers ? [await upload(staging)] : []
    await sweep(staging, OVER_AN_HOUR)
    await sweep(staging, OVER_A_MONTH)
    expect(keysIn(s3)).toEqual(expect.arrayContaining([key, ...own]))
    expect((await staging.ask('GET', '/ready')).json).toMatchObject({ store: 'failing' })
    expect((await staging.ask('GET', '/ready')).status).toBe(200)
    expect((await staging.services.serverState()).storeProblem).toContain('belongs to another')
  }
})

test('the owner keeps the files of a second server that uses its store', async () => {
  await using setup = await startStore()
  const { s3, open } = setup
  const production = await open()
  await upload(production)
  const staging = await open()
  const key = await upload(staging)
  await sweep(production, OVER_AN_HOUR)
  expect(keysIn(s3)).toContain(key)
  expect(await production.services.storeOwner.state()).toMatchObject({ kind: 'shared' })
})

test('an empty database does not claim a store with files from an earlier version', async () => {
  await using setup = await startStore()
  const { s3, open, store } = setup
  const key = store(`${'0'.repeat(26)}.txt`)
  const trial = await open()
  await sweep(trial, OVER_AN_HOUR)
  await sweep(trial, OVER_A_MONTH)
  expect(keysIn(s3)).toEqual([key])
})

test('lists only the first 1,000 files of a store without an owner', async () => {
  await using setup = await startStore()
  const { s3, open, store } = setup
  for (let at = 0; at < 1_200; at++) store(`${String(at).padStart(26, '0')}.txt`)
  const app = await open()
  expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'guest' })
  // The store lists 100 at once.
  expect(s3.requests.LIST).toBe(10)
})

onSqlite('removes what the data directory knows')(
  'a store from an earlier version belongs to the database with rows for its files, which sweeps it after a month',
  async () => {
    await using setup = await startStore()
    const { s3, open, store } = setup
    const app = await open()
    const keys = [await upload(app), await upload(app)]
    for (const name of keysIn(s3, /json$/)) s3.objects.delete(`p/${name}`)
    const orphan = store(`${'0'.repeat(26)}.txt`)
    await rm(join(app.dataDir, 'store-claim.json'))
    await app.restart()
    expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'owner' })
    await sweep(app, OVER_AN_HOUR)
    expect(keysIn(s3)).toEqual([orphan, ...keys].toSorted())
    await sweep(app, OVER_A_MONTH)
    expect(keysIn(s3)).toEqual(keys.toSorted())
  },
)

onSqlite('copies a data directory')(
  'a copied database neither sweeps nor deletes, and the original continues',
  async () => {
    await using setup = await startStore()
    const { s3, open } = setup
    const app = await open()
    const [older, newer] = [await upload(app), await upload(app)]
    const copied = await mkdtemp(join(tmpdir(), 'homeport-copy-'))
    // Except the outbox, which is being written to.
    await cp(app.dataDir, copied, {
      recursive: true,
      filter: (path) => !path.includes('/outbox'),
    })
    const copy = await open(copied)
    const later = await upload(app)
    await sweep(copy, OVER_AN_HOUR)
    await copy.services.files.remove(older)
    expect(keysIn(s3)).toEqual([older, newer, later].toSorted())
    await app.services.files.remove(older)
    await rm(join(app.dataDir, 'files', 'cache'), { recursive: true })
    expect(keysIn(s3)).toEqual([newer, later].toSorted())
  },
)

testInstances('a copy by pg_dump does not sweep, even beside a stopped original', async () => {
  await using setup = await startStore()
  const { s3, open } = setup
  await using database = await createTestDatabase()
  const shared = { database, clock: createClock() }
  const environment = { ...database.environment }
  await using copied = await createTestDatabase({ from: environment['DATABASE_URL'] })
  const app = await open(undefined, { shared })
  const key = await upload(app)
  await using later = await createTestDatabase({ from: environment['DATABASE_URL'] })
  for (const copy of [copied, later]) {
    const server = await open(undefined, { shared: { ...shared, database: copy } })
    await sweep(server, OVER_A_MONTH)
    expect(keysIn(s3)).toEqual([key])
    expect(await server.services.storeOwner.state()).toMatchObject({ kind: 'guest' })
  }
})

test('detects a copy in the same place by its old token', async () => {
  await using setup = await startStore()
  const { s3, open } = setup
  const app = await open()
  await upload(app)
  await sweep(app, OVER_AN_HOUR)
  const [name = ''] = keysIn(s3, /owner/)
  const owner = JSON.parse(s3.objects.get(`p/${name}`)?.bytes.toString() ?? '')
  const moved = { ...owner, token: 'of the copy' }
  s3.objects.set(`p/${name}`, {
    bytes: Buffer.from(JSON.stringify(moved)),
    lastModified: new Date(),
  })
  await sweep(app, OVER_AN_HOUR)
  expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'guest' })
  await app.services.storeOwner.claim()
  expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'owner' })
})

test('one run deletes only a small share of all files, and logs and counts each', async () => {
  await using setup = await startStore()
  const { s3, open, store } = setup
  const app = await open()
  const key = await upload(app)
  for (let at = 0; at < 25; at++) store(`${String(at).padStart(26, '0')}.txt`)
  const left = []
  for (let round = 0; round < 3; round++) {
    await sweep(app, OVER_AN_HOUR)
    left.push(keysIn(s3).length)
  }
  expect(left).toEqual([16, 6, 1])
  expect(keysIn(s3)).toEqual([key])
  expect(app.services.orphans.countDeleted()).toBe(25)
  expect(app.lines.filter((line) => line.includes('deleted a file'))).toHaveLength(25)
})

test('a file that cannot be deleted does not stop the deletion of others', async () => {
  await using setup = await startStore()
  const { s3, open, store } = setup
  const app = await open()
  await upload(app)
  const locked = store(`${'0'.repeat(26)}.txt`)
  store(`${'1'.repeat(26)}.txt`)
  const { orphans } = app.services
  s3.faults.locked = `p/${locked}`
  await sweep(app, OVER_AN_HOUR)
  expect(keysIn(s3)).toHaveLength(2)
  expect([orphans.countDeleted(), orphans.countUndeletable()]).toEqual([1, 1])
  expect(await app.services.metrics.read('homeport_files_undeletable')).toMatchObject([
    { value: 1 },
  ])
  const refused = { msg: 'a file without a row cannot be deleted', key: locked }
  const { err } = (await app.logged(refused)) as { err: { cause: { message: string } } }
  expect(err.cause.message).toContain(
    'give the key the DeleteObject permission, and end the Object Lock',
  )
  s3.faults.locked = null
  await sweep(app, OVER_AN_HOUR)
  expect([orphans.countDeleted(), orphans.countUndeletable()]).toEqual([2, 0])
})

test('many files that cannot be deleted delay the others only until the next run', async () => {
  await using setup = await startStore()
  const { s3, open, store } = setup
  const app = await open()
  const key = await upload(app)
  for (let at = 0; at < 110; at++) store(`${String(at).padStart(26, '0')}.txt`)
  const free = store(`${'1'.repeat(26)}.txt`)
  s3.faults.locked = 'p/0'
  await sweep(app, OVER_AN_HOUR)
  expect(keysIn(s3)).toContain(free)
  await sweep(app, OVER_AN_HOUR)
  expect(keysIn(s3)).not.toContain(free)
  expect(keysIn(s3)).toContain(key)
  expect(app.services.orphans.countUndeletable()).toBe(110)
})

test('a database refuses another prefix until the operator confirms that its files have moved', async () => {
  await using setup = await startStore()
  const { open, url } = setup
  const app = await open()
  await upload(app)
  const filesUrl = s3Url(url.replace('files/p', 'files/other')) ?? null
  await app.restart({ filesUrl })
  expect(await app.services.storeOwner.describeProblem()).toContain('are in another store')
  await app.services.storeOwner.claim()
  expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'owner' })
})

testInstances(
  'an instance without FILES_URL is refused once the database has files in a store',
  async () => {
    await using setup = await startStore()
    const app = await setup.open()
    await upload(app)
    await app.restart({ filesUrl: null })
    expect(await app.services.storeOwner.state()).toMatchObject({ kind: 'elsewhere' })
  },
)

async function startStore() {
  await using stack = new AsyncDisposableStack()
  const s3 = stack.use(await startS3(ACCOUNT))
  const url = `s3://files/p?endpoint=${s3.url}`
  const disposal = stack.move()
  return { s3, url, open, store, [Symbol.asyncDispose]: () => disposal.disposeAsync() }

  async function open(dataDir?: string, options: Parameters<typeof createTestApp>[1] = {}) {
    const { accessKeyId, secretAccessKey } = ACCOUNT
    const keys = { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey }
    return disposal.use(
      await createTestApp(
        { FILES_URL: url, ...keys },
        { ...options, ...(dataDir === undefined ? {} : { dataDir }) },
      ),
    )
  }

  /** Puts an object without a row into the store. */
  function store(key: string): string {
    s3.objects.set(`p/${key}`, { bytes: Buffer.from('x'), lastModified: new Date() })
    return key
  }
}

async function upload(app: TestApp): Promise<string> {
  const { accessToken: token } = await app.register()
  const { json } = await uploadBody(app, token, 'a', 'text/plain', 'supportTicket')
  return json.response[0].key
}

async function sweep(app: TestApp, ms: number) {
  app.clock.advance(ms)
  await app.services.orphans.collect(AbortSignal.timeout(20_000))
}

function keysIn({ objects }: Awaited<ReturnType<typeof startS3>>, pattern = /txt$/): string[] {
  return [...objects.keys()]
    .map((key) => key.slice('p/'.length))
    .filter((key) => pattern.test(key))
    .toSorted()
}
