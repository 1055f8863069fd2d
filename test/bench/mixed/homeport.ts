import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { freePort } from '../../support/executable.ts'
import { startHomeport, WEBHOOK_TOKEN } from '../servers.ts'
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
import { type Session, SUBSCRIPTION_PATH, UPLOAD_PATH } from './homeport-client.ts'

export const PUBLIC_PATHS = [
  '/api/user/app_settings/v1',
  '/api/user/pricing_plans/v1',
  '/api/user/currency_rates/v1',
  '/api/user/content_version/v1',
]

/** Starts the built executable on its own data directory. */
export async function startHomeportContender(
  folder: string,
  size: Size,
  photo: string,
): Promise<Contender> {
  const dataDir = join(folder, 'homeport')
  const port = freePort()
  const server = await startHomeport(dataDir, port)
  return {
    name: 'Homeport',
    pid: server.pid,
    port,
    about: 'argon2id 19 MiB t=2; SQLite, synchronous=FULL, group commit; WebP on upload',
    apiName: 'homeport',
    prepare: () => prepareWorld(port, size, photo),
    stop: server.stop,
    countStored: () =>
      countRows(join(dataDir, 'homeport.db'), { events: 'billing_events', uploads: 'attachments' }),
  }
}

/** Creates users and images through Homeport's API. */
export async function prepareWorld(port: number, size: Size, photo: string): Promise<World> {
  const users: User[] = []
  const pictures: string[] = []
  const makeEvent = createEventFactory()
  const picture = await Bun.file(photo).bytes()
  await forEachTwoAtATime(Array.from({ length: size.users }), async (_, at) => {
    const email = `user-${at}@${EMAIL_DOMAIN}`
    const json = { email, password: PASSWORD }
    const path = '/api/auth/register/v1'
    const { response } = await ask<{ response: Session }>(port, 'POST', path, { json })
    const { accessToken, refreshToken, user: account } = response
    const user = {
      id: account._id,
      email,
      accessToken,
      refreshToken,
      subscription: SUBSCRIPTION_PATH,
    }
    users.push(user)
    const event = makeEvent('INITIAL_PURCHASE', user)
    await ask(port, 'POST', WEBHOOK_PATH, { token: WEBHOOK_TOKEN, json: { event } })
  })
  await forEachTwoAtATime(users.slice(0, size.pictures), async ({ accessToken: token }) => {
    const headers = { 'content-type': 'image/jpeg' }
    const { response } = await ask<{ response: { url: string }[] }>(port, 'POST', UPLOAD_PATH, {
      token,
      headers,
      body: picture,
    })
    pictures.push(new URL(response[0]?.url ?? '').pathname)
  })
  const reads = await Promise.all(
    PUBLIC_PATHS.map(async (path) => {
      const { headers } = await fetch(`http://127.0.0.1:${port}${path}`)
      return { path, etag: headers.get('etag') }
    }),
  )
  return { port, users, reads, pictures, photo }
}

/** Counts the rows of two tables of a closed database. */
export function countRows(path: string, tables: { events: string; uploads: string }) {
  using db = new Database(path)
  const count = (table: string) =>
    Number(db.query(`SELECT count(*) FROM ${table}`).values()[0]?.[0])
  return { events: count(tables.events), uploads: count(tables.uploads) }
}
