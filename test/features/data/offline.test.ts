import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Client, createClient } from '../../../src/client/client.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { cases } from '../../support/cases.ts'
import { networkTo } from '../../support/network.ts'

const ROOT = join(import.meta.dir, '../../..')
const LOGIN = { email: 'ann@example.com', password: PASSWORD }

/** The recipe of `docs/user-data.md`. */
type Recipe = {
  store: { base?: object; version?: string; patch?: Record<string, unknown> | null }
  useClient: (client: Client) => void
  useStore: (store: Recipe['store']) => void
  current: () => Record<string, unknown>
  change: (patch: object) => Promise<void>
  sync: () => Promise<void>
}

const value = fc.oneof(
  fc.constant(null),
  fc.nat({ max: 9 }),
  fc.dictionary(fc.constantFrom('x', 'y'), fc.nat({ max: 9 })),
)
const step = fc.record({
  device: fc.nat({ max: 1 }),
  patch: fc.dictionary(fc.constantFrom('a', 'b', 'c'), value),
  isOnline: fc.boolean(),
})

test('devices that follow the recipe for offline changes agree in the end', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { fetch } = networkTo(app)
  await createClient({ baseUrl: 'http://localhost', fetch }).register(LOGIN)
  const folder = await mkdtemp(join(tmpdir(), 'homeport-recipe-'))
  await writeRecipe(folder)
  let devices = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      let isOnline = true
      const client = createClient({
        baseUrl: 'http://localhost',
        fetch: (url, init) => (isOnline ? fetch(url, init) : Promise.reject(new Error('offline'))),
      })
      await client.login(LOGIN)
      await client.replaceData({})
      const [phone, tablet] = [await install(), await install()]
      expect(phone.store).not.toBe(tablet.store)
      for (const { device, patch, isOnline: isConnected } of steps) {
        const recipe = device === 0 ? phone : tablet
        const before = recipe.current()
        isOnline = isConnected
        // A failed read is tried again, which takes a second; only changes fail at once.
        if (!isConnected && !recipe.store.version) continue
        await recipe.change(patch).catch(() => {})
        if (Object.keys(patch).length === 0 && !isConnected)
          expect(recipe.current()).toEqual(before)
      }
      isOnline = true
      for (const recipe of [phone, tablet, phone]) await recipe.sync()
      const { data } = await client.readData()
      expect([phone.current(), tablet.current()]).toEqual([data, data])
      expect([phone.store.patch ?? null, tablet.store.patch ?? null]).toEqual([null, null])

      async function install(): Promise<Recipe> {
        const recipe: Recipe = await import(`${join(folder, 'data.ts')}?${devices++}`)
        recipe.useClient(client)
        await recipe.sync()
        return recipe
      }
    }),
    { numRuns: cases(40, 1_000) },
  )
  await rm(folder, { recursive: true })
}, 60_000)

test('a change made while the document is being read is sent too', async () => {
  await using setup = await createDevice()
  const { recipe, client, hold } = setup
  const { reached, release } = hold('GET')
  const reading = recipe.sync()
  await reached
  const changing = recipe.change({ theme: 'light' })
  release()
  await Promise.all([reading, changing])
  expect((await client.readData()).data).toEqual({ theme: 'light' })
})

test('a change on another device is read although an older response arrives after its event', async () => {
  await using setup = await createDevice()
  const { recipe, client, hold } = setup
  const { reached, release } = hold('GET')
  const reading = recipe.sync()
  await reached
  await client.patchData({ theme: 'light' })
  const again = recipe.sync()
  release()
  await Promise.all([reading, again])
  expect(recipe.current()).toEqual({ theme: 'light' })
})

test('a change during a request does not repeat what another device has undone', async () => {
  await using setup = await createDevice()
  const { recipe, client, hold } = setup
  await recipe.sync()
  const { reached, release } = hold('PATCH')
  const changing = recipe.change({ favorites: { x: true } })
  await reached
  void recipe.change({ favorites: { y: true } })
  await client.patchData({ favorites: { x: null } })
  release()
  await changing
  expect((await client.readData()).data).toEqual({ favorites: { y: true } })
})

test('changes that the server refuses do not keep the device from reading', async () => {
  await using setup = await createDevice()
  const { recipe, client } = setup
  await recipe.sync()
  await expect(recipe.change({ text: 'x'.repeat(70_000) })).rejects.toMatchObject({
    code: 'payload_too_large',
  })
  await client.patchData({ theme: 'dark' })
  await recipe.sync()
  expect(recipe.current()).toEqual({ theme: 'dark' })
})

test('a document that arrives after another user has signed in is not shown to that user', async () => {
  await using setup = await createDevice()
  const { recipe, client, hold, ofDevice } = setup
  await client.patchData({ diary: 'of Ann' })
  const ofAnn = recipe.store
  const { reached, release } = hold('GET')
  const reading = recipe.sync()
  await reached
  await ofDevice.logout()
  await ofDevice.register({ ...LOGIN, email: 'bob@example.com' })
  recipe.useStore({})
  await recipe.change({ theme: 'dark' })
  release()
  await reading
  expect([recipe.current(), ofAnn]).toEqual([{ theme: 'dark' }, {}])
  expect((await ofDevice.readData()).data).toEqual({ theme: 'dark' })
})

/** A device with the recipe. `hold` holds back the response to its next request with a method until `release`. */
async function createDevice() {
  const app = await createTestApp({ RATE_LIMITS: 'off' })
  const { fetch } = networkTo(app)
  const folder = await mkdtemp(join(tmpdir(), 'homeport-recipe-'))
  await writeRecipe(folder)
  let held = null as { method: string; reached: () => void; released: Promise<void> } | null
  const options = { baseUrl: 'http://localhost', fetch }
  const client = createClient(options)
  await client.register(LOGIN)
  const ofDevice = createClient({
    ...options,
    fetch: async (url, init) => {
      const reply = await fetch(url, init)
      const hold = held
      if (hold === null || hold.method !== init?.method) return reply
      held = null
      hold.reached()
      await hold.released
      return reply
    },
  })
  await ofDevice.login(LOGIN)
  const recipe: Recipe = await import(`${join(folder, 'data.ts')}?${crypto.randomUUID()}`)
  recipe.useClient(ofDevice)
  return { client, recipe, hold, ofDevice, [Symbol.asyncDispose]: dispose }

  function hold(method: string) {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    held = { method, reached: reached.resolve, released: released.promise }
    return { reached: reached.promise, release: released.resolve }
  }

  async function dispose() {
    await app[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  }
}

/** Writes the recipe's files, with a store in memory and a client that is set later. */
async function writeRecipe(folder: string) {
  const page = await Bun.file(join(ROOT, 'docs/user-data.md')).text()
  const blocks = [...page.matchAll(/```(?:ts|js)\n(\/\/ (?:data|merge-patch)\.js[\s\S]*?)```/g)]
  const [data = '', mergePatch = ''] = blocks.map(([, code]) => code)
  expect([data.length > 500, mergePatch.length > 500]).toEqual([true, true])
  const setUp =
    'export let store = {}\nexport const useStore = (one) => { store = one }\nlet api\nexport const useClient = (one) => { api = one }\n'
  const client = JSON.stringify(join(ROOT, 'src/client/client.ts'))
  await Bun.write(join(folder, 'data.ts'), setUp + data.replace("'homeport-client'", client))
  await Bun.write(join(folder, 'merge-patch.js'), mergePatch)
}
