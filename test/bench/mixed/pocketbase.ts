import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../support/executable.ts'
import { installPocketBase } from '../pocketbase.ts'
import { WEBHOOK_TOKEN, waitUntilOk } from '../servers.ts'
import {
  ask,
  createEventFactory,
  EMAIL_DOMAIN,
  forEachTwoAtATime,
  PASSWORD,
  type User,
  WEBHOOK_PATH,
  type World,
} from './client.ts'
import type { Contender, Size } from './contender.ts'
import { countRows, PUBLIC_PATHS } from './homeport.ts'
import { formOf, pathOf, type Upload, USERS } from './pocketbase-client.ts'

const ADMIN = { identity: 'admin@example.com', password: PASSWORD }
const HOOKS = join(import.meta.dir, 'pocketbase-hooks')

/** Only its owner may read a purchase. */
const OWNER_ONLY = 'user = @request.auth.id'
const COLLECTIONS = [
  { name: 'contents', viewRule: '', fields: [{ name: 'body', type: 'json' }] },
  {
    name: 'events',
    fields: [
      { name: 'eventId', type: 'text', required: true },
      { name: 'event', type: 'json' },
    ],
    indexes: ['CREATE UNIQUE INDEX events_event_id ON events (eventId)'],
  },
  {
    name: 'subscriptions',
    listRule: OWNER_ONLY,
    viewRule: OWNER_ONLY,
    fields: [
      ...['line', 'user', 'productId', 'store'].map((name) => ({ name, type: 'text' })),
      ...['eventAt', 'purchasedAt', 'expiresAt'].map((name) => ({ name, type: 'number' })),
    ],
    indexes: ['CREATE UNIQUE INDEX subscriptions_line ON subscriptions (line)'],
  },
  {
    name: 'pictures',
    viewRule: '',
    createRule: "@request.auth.id != ''",
    fields: [{ name: 'file', type: 'file', maxSelect: 1, thumbs: ['800x0'] }],
  },
]

/**
 * Starts PocketBase with the public content of the server on port `contentPort`. Returns null if
 * npm does not have PocketBase.
 */
export async function startPocketBaseContender(
  folder: string,
  size: Size,
  photo: string,
  contentPort: number,
): Promise<Contender | null> {
  const port = freePort()
  const home = join(folder, 'pocketbase')
  const program = await installPocketBase(home)
  if (program === null) return null
  const dataDir = join(home, 'data')
  await mkdir(dataDir)
  const dir = ['--dir', dataDir]
  const quiet = { stdout: 'ignore', stderr: 'ignore' } as const
  const { identity, password } = ADMIN
  await Bun.spawn([program, 'superuser', 'create', identity, password, ...dir], quiet).exited
  const server = Bun.spawn(
    [program, 'serve', `--http=127.0.0.1:${port}`, `--hooksDir=${HOOKS}`, ...dir],
    { ...quiet, env: { ...process.env, WEBHOOK_TOKEN } },
  )
  await waitUntilOk(`http://127.0.0.1:${port}/api/health`)
  return {
    name: 'PocketBase',
    pid: server.pid,
    port,
    about:
      'bcrypt of cost 10; SQLite, synchronous=NORMAL (no sync on commit); thumbnail on first read; no ETag',
    apiName: 'pocketbase',
    prepare: () => prepare(port, size, photo, contentPort),
    async stop() {
      server.kill()
      await server.exited
    },
    countStored: () =>
      countRows(join(dataDir, 'data.db'), { events: 'events', uploads: 'pictures' }),
  }
}

async function prepare(
  port: number,
  size: Size,
  photo: string,
  contentPort: number,
): Promise<World> {
  const token = await signIn(port, '_superusers', ADMIN.identity)
  for (const collection of COLLECTIONS) {
    const json = { type: 'base', ...collection }
    await ask(port, 'POST', '/api/collections', { token, json })
  }
  const users: User[] = []
  const makeEvent = createEventFactory()
  await forEachTwoAtATime(Array.from({ length: size.users }), async (_, at) => {
    const email = `user-${at}@${EMAIL_DOMAIN}`
    const json = { email, password: PASSWORD, passwordConfirm: PASSWORD }
    const { id } = await ask<{ id: string }>(port, 'POST', `${USERS}/records`, { json })
    const accessToken = await signIn(port, 'users', email)
    const user = { id, email, accessToken, refreshToken: '', subscription: '' }
    const event = makeEvent('INITIAL_PURCHASE', user)
    await ask(port, 'POST', WEBHOOK_PATH, { token: WEBHOOK_TOKEN, json: { event } })
    const records = '/api/collections/subscriptions/records'
    const { items } = await ask<{ items: { id: string }[] }>(port, 'GET', records, {
      token: accessToken,
    })
    users.push({ ...user, subscription: `${records}/${items[0]?.id}` })
  })
  const { headers, body } = formOf(await Bun.file(photo).bytes())
  const pictures: string[] = []
  await forEachTwoAtATime(users.slice(0, size.pictures), async ({ accessToken }) => {
    const path = '/api/collections/pictures/records'
    const options = { token: accessToken, headers, body }
    pictures.push(pathOf(await ask<Upload>(port, 'POST', path, options)))
  })
  const reads: World['reads'] = []
  for (const path of PUBLIC_PATHS) {
    const reply = await fetch(`http://127.0.0.1:${contentPort}${path}`)
    const records = '/api/collections/contents/records'
    const json = { body: await reply.json() }
    const { id } = await ask<{ id: string }>(port, 'POST', records, { token, json })
    reads.push({ path: `${records}/${id}`, etag: null })
  }
  return { port, users, reads, pictures, photo }
}

async function signIn(port: number, collection: string, identity: string): Promise<string> {
  const path = `/api/collections/${collection}/auth-with-password`
  const json = { identity, password: PASSWORD }
  return (await ask<{ token: string }>(port, 'POST', path, { json })).token
}
