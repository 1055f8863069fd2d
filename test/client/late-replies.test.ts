import { describe, expect, test } from 'bun:test'
import type { Client, Session } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf, failureOf } from '../support/network.ts'
import { until } from '../support/until.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }
const MINUTE = 60_000

describe.each(BACKENDS)('$name: while a response is on its way', ({ open }) => {
  /** Holds back the responses to requests for a path until `release`, or loses them at `lose`. */
  function hold(network: ReturnType<typeof clientOf>['network'], path: string) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const isHeld = (request: Request) => new URL(request.url).pathname.includes(path)
    network.interceptor = {
      reply: (reply, request) => {
        if (!isHeld(request)) return reply
        reached.resolve()
        return promise.then(() => reply)
      },
    }
    return {
      reached: reached.promise,
      release: resolve,
      lose: () => reject(new Error('connection reset')),
    }
  }

  test('a call that waits for a refresh is not sent as the next user', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    await client.register({ ...LOGIN, email: 'bob@example.com' })
    await client.login(LOGIN)
    app.clock.advance(20 * MINUTE)
    const held = hold(network, '/refresh/')
    const deletion = failureOf(client.deleteProfile())
    const change = failureOf(client.changeProfile({ profile: { name: 'Ann' } }))
    await held.reached
    const leaving = client.logout()
    await until(async () => !(await client.isSignedIn()), 'the user stays signed in')
    await client.login({ ...LOGIN, email: 'bob@example.com' })
    held.lose()
    await leaving
    expect([(await deletion).code, (await change).code]).toEqual(['conflict', 'conflict'])
    expect((await client.readProfile()).profile.name).toBe('')
    expect(await app.countUsers()).toBe(2)
  })

  test('a guest does not replace the user who signs in', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    await client.logout()
    const held = hold(network, '/guest/')
    const guest = failureOf(client.startAsGuest())
    await held.reached
    const { user } = (await client.login(LOGIN)) as Session
    held.release()
    expect((await guest).code).toBe('conflict')
    expect((await client.readProfile())._id).toBe(user._id)
  })

  test('a sign-out has taken effect on the device', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    const held = hold(network, '/logout/')
    const leaving = client.logout()
    await held.reached
    expect(await client.isSignedIn()).toBe(false)
    await client.login(LOGIN)
    held.release()
    await leaving
    expect(await client.isSignedIn()).toBe(true)
  })

  /** A client of Ann's that has sent nothing yet. `signInElsewhere` replaces her session by Bob's, as another tab does. */
  async function openAsAnn(app: Parameters<typeof clientOf>[0]) {
    const storage = createMemoryStorage()
    const { client: first } = clientOf(app, { ...PLAIN, storage })
    await first.register({ ...LOGIN, email: 'bob@example.com' })
    const bob = String(storage.getItem('homeport.session'))
    await first.register(LOGIN)
    const { client } = clientOf(app, { ...PLAIN, storage })
    const signInElsewhere = () => void storage.setItem('homeport.session', bob)
    return { storage, client, signInElsewhere }
  }

  test('a purchase is queued for the user who bought it, while another tab signs in', async () => {
    await using app = await open()
    const { storage, client, signInElsewhere } = await openAsAnn(app)
    const { userId } = JSON.parse(String(storage.getItem('homeport.session')))
    const queued = client.queuePurchase({ store: 'app_store', signedTransaction: 'x' })
    signInElsewhere()
    await queued
    expect(JSON.parse(String(storage.getItem('homeport.purchases')))).toMatchObject({ userId })
  })

  test.each([
    ['a deletion', (client: Client) => client.deleteProfile()],
    [
      'an upload',
      (client: Client) =>
        client.uploadAttachments({
          type: 'supportTicket',
          files: [{ name: 'a.txt', type: 'text/plain', data: new Blob(['a']) }],
        }),
    ],
  ])('%s is refused if another tab signs in before it is sent', async (_name, act) => {
    await using app = await open()
    const { client, signInElsewhere } = await openAsAnn(app)
    const acting = act(client)
    signInElsewhere()
    await expect(acting).rejects.toMatchObject({ code: 'conflict' })
    expect((await client.readProfile()).email).toBe('bob@example.com')
  })
})
