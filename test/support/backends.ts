import { TOTP } from 'totp-generator'
import type { ClientOptions } from '../../src/client/client.ts'
import {
  createFakeServer,
  type FakeServer,
  type FakeServerOptions,
} from '../../src/client/testing/testing.ts'
import { type Clock, createTestApp, type TestApp } from './app.ts'
import type { Served } from './network.ts'
import { serveApp } from './served.ts'

/** A server that clients talk to in a test. */
export type World = Served & {
  clock: Clock
  /** The services of the real server. */
  services?: TestApp['services']
  /** The fake server. */
  server?: FakeServer
  /** Ends all sessions, as if from another device. */
  endSessions: () => Promise<void>
  /** Signs a user out on all devices, as an operator does. */
  signOutEverywhere: (email: string) => Promise<void>
  countUsers: () => Promise<number>
  /** Whether a refresh token was used again in a way that looks like a theft. */
  hasDetectedReuse: () => boolean
  /** The code that an authenticator app shows for a secret. */
  codeFor: (secret: string) => Promise<string>
  countStreams: () => number
  /** Options of a client whose requests can stay open, and a function that ends them. */
  serve: () => {
    options: Pick<ClientOptions, 'baseUrl' | 'fetch'>
    [Symbol.asyncDispose]: () => Promise<void>
  }
  /** Changes a setting of the app. */
  setUnderMaintenance: (isOn: boolean) => Promise<void>
  [Symbol.asyncDispose]: () => Promise<void>
}

type Backend = {
  name: string
  /** The `env` of its clients. */
  env: string
  open: (
    environment?: Parameters<typeof createTestApp>[0],
    options?: Parameters<typeof createTestApp>[1],
  ) => Promise<World>
}

const REAL: Backend = { name: 'server', env: 'test', open: openReal }
const FAKE: Backend = { name: 'fake server', env: 'test', open: async () => openFake() }

const SEALING: Backend = { ...REAL, name: 'sealing server', env: 'production' }

/** The real server, with plain and with sealed payloads. */
export const SERVERS: Backend[] = [REAL, SEALING]

/** The real server and the fake one, which must not behave differently. */
export const BACKENDS: Backend[] = [REAL, FAKE]

/** Like `BACKENDS`, plus the real server with sealed payloads. */
export const BACKENDS_AND_SEALED: Backend[] = [...SERVERS, FAKE]

export async function openReal(...options: Parameters<typeof createTestApp>): Promise<World> {
  const app: TestApp = await createTestApp(...options)
  const { db } = app.services
  return Object.assign(app, {
    endSessions: () => db.write(async (tx) => void (await tx.delete(db.tables.sessions))),
    signOutEverywhere: async (email: string) =>
      app.services.users.accountSecurity.signOut((await app.services.findIdByEmail(email)) ?? ''),
    countUsers: () => db.read.$count(db.tables.users),
    hasDetectedReuse: () => app.lines.join('').includes('refresh token reuse'),
    codeFor: async (secret: string) =>
      (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp,
    countStreams: () => app.services.changes.countStreams(),
    serve: () => {
      const served = serveApp(app)
      return {
        options: { baseUrl: served.url },
        [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
      }
    },
    setUnderMaintenance: async (underMaintenance: boolean) => {
      await app.services.settings.set({ underMaintenance })
    },
  })
}

/** The fake server, with the interface of a test application. */
export function openFake(options: FakeServerOptions = {}) {
  const server = createFakeServer({ url: 'http://localhost', ...options })
  return {
    server,
    app: { handle: (request: Request) => passOn(request, server) },
    clock: {
      get now() {
        return new Date(server.now())
      },
      set now(_time: Date) {
        throw new Error('use advance')
      },
      advance: (ms: number) => server.advance({ ms }),
    },
    endSessions: async () => server.endSessions(),
    signOutEverywhere: async (email: string) => server.endSessions(email),
    countUsers: async () => server.listUsers().length,
    hasDetectedReuse: () => server.mails.some(({ kind }) => kind === 'token-reused'),
    codeFor: async () => server.twoFactorCode,
    countStreams: server.countConnections,
    serve: () => ({
      options: { baseUrl: server.url, fetch: server.fetch },
      [Symbol.asyncDispose]: async () => server.cutConnections(),
    }),
    setUnderMaintenance: async (underMaintenance: boolean) =>
      server.changeContent({ settings: { underMaintenance } }),
    [Symbol.asyncDispose]: async () => server.cutConnections(),
  } satisfies World & { server: FakeServer }
}

/** Like a network, which always takes a moment. */
async function passOn(request: Request, server: FakeServer): Promise<Response> {
  await Bun.sleep(0)
  const { url, method, headers, signal } = request
  const body = await request.bytes()
  return server.fetch(url, { method, headers, signal, ...(body.length > 0 ? { body } : {}) })
}
