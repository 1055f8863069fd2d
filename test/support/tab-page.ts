import { createClient, type Storage } from '../../src/client/client.ts'

const { location, localStorage } = globalThis as unknown as {
  location: { origin: string }
  localStorage: Storage
}
const options = { baseUrl: location.origin, storage: localStorage }
Object.assign(globalThis, { api: createClient(options) })
