import type { Client } from '../../../src/client/client.ts'
import type { FakeServer } from '../../../src/client/testing/testing.ts'

/** Calls every function of the client that sends a request. */
export async function use(client: Client, server: FakeServer, user: { _id: string }) {
  await client.replaceData({ a: 1 })
  server.setServerData(user, { score: 1 })
  await client.patchData({ b: 2 })
  await client.readData()
}
