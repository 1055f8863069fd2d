import {
  createClient,
  type DataSync,
  type DataSyncOptions,
  type JsonObject,
} from '../../src/client/client.ts'
import { createTestApp, PASSWORD } from './app.ts'
import { networkTo } from './network.ts'
import { until } from './until.ts'

export const LOGIN = { email: 'ann@example.com', password: PASSWORD }

/** Waits for `count` turns of the event loop. */
export async function turns(count: number) {
  for (let at = 0; at < count; at++) await new Promise(setImmediate)
}

type DeviceOptions = { merge?: DataSyncOptions['merge']; isSlow?: boolean }

/** A device that stores the document. `hold(method)` delays the response to its next such request until `release()`. */
export async function createDevice({ isSlow = false, ...options }: DeviceOptions = {}) {
  const app = await createTestApp({ RATE_LIMITS: 'off' })
  const { fetch } = networkTo(app)
  let pending = 0
  let held = null as { method: string; reached: () => void; released: Promise<void> } | null
  const client = createClient({ baseUrl: 'http://localhost', fetch })
  await client.register(LOGIN)
  const storage = createListedStorage(isSlow)
  const device = { client, hold, ofDevice: client, storage, start, isOnline: true }
  device.ofDevice = createClient({
    baseUrl: 'http://localhost',
    storage,
    fetch: async (url, init) => {
      if (!device.isOnline) throw new Error('offline')
      pending++
      const reply = await fetch(url, init).finally(() => pending--)
      const hold = held
      if (!url.includes('/data/') || hold?.method !== init?.method) return reply
      held = null
      hold?.reached()
      await hold?.released
      return reply
    },
  })
  await device.ofDevice.login(LOGIN)
  const sync = await start()
  return Object.assign(device, { sync, [Symbol.asyncDispose]: dispose })

  function start(): Promise<DataSync> {
    return device.ofDevice.syncData(options)
  }

  function hold(method: string) {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    held = { method, reached: reached.resolve, released: released.promise }
    return { reached: reached.promise, release: released.resolve }
  }

  async function dispose() {
    sync.stop()
    device.isOnline = false
    await until(() => pending === 0, 'a request is still running')
    await app[Symbol.asyncDispose]()
  }
}

/** `isSlow`: each access takes some turns of the event loop, as on a phone. */
function createListedStorage(isSlow: boolean) {
  const items = new Map<string, string>()
  const run = <T>(access: () => T) => (isSlow ? turns(3).then(access) : access())
  return {
    getItem: (key: string) => run(() => items.get(key) ?? null),
    setItem: (key: string, text: string) => run(() => void items.set(key, text)),
    removeItem: (key: string) => run(() => void items.delete(key)),
    items: (): JsonObject => Object.fromEntries(items),
  }
}
