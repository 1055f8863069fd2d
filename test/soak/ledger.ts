import type { AppServer } from './app-server.ts'
import type { Billing } from './billing.ts'
import type { Client } from './client.ts'
import type { User, Users } from './users.ts'
import type { World } from './world.ts'

type Parts = { client: Client; users: Users; billing: Billing; appServer: AppServer }

export type Comparisons = Awaited<ReturnType<typeof verifyAcknowledged>>

/**
 * Compares all acknowledged writes with the database, the disk and the server's responses: nothing
 * may be lost, duplicated or added. Stops the server at the end.
 */
export async function verifyAcknowledged(world: World, allUsers: User[], parts: Parts) {
  const { client, users, billing, appServer } = parts
  await appServer.waitForWebhooks()
  const column = async (sql: string) => (await world.query(sql)).map(([value]) => String(value))
  const acknowledgedFiles = allUsers.flatMap(({ files }) => [...files.keys()])
  const rows = await column('SELECT key FROM attachments')
  const stored = await world.storedFiles()
  const comparisons = {
    events: compare(billing.events, await column('SELECT event_id FROM billing_events')),
    users: compare(users.emails, await column('SELECT email FROM users')),
    files: compare(acknowledgedFiles, rows),
    filesOnDisk: compare(rows, stored),
    webhooks: compare(users.expectedWebhooks, [...appServer.webhooks]),
  }
  for (const user of allUsers) {
    await users.readProfile(user)
    await billing.readSubscription(user)
    await appServer.readUsage(user)
    await users.refresh(user)
  }
  // A rebuild must give every purchase the same state.
  const rebuilt = await world.run(['events', 'rebuild', '--json'])
  const { changed } = JSON.parse(rebuilt.stdout) as { changed: string[] }
  if (changed.length > 0) client.problems.push(`${changed.length} purchases differ from a rebuild`)
  const doctor = await world.run(['doctor'])
  if (doctor.exitCode !== 0) client.problems.push(`doctor: ${doctor.stdout}`)
  const exitCode = await world.stop('SIGTERM')
  if (exitCode !== 0) client.problems.push(`the server ended with ${exitCode}`)
  if (world.engine === 'sqlite') {
    const [first] = (await world.query('PRAGMA integrity_check')).flat()
    if (first !== 'ok') client.problems.push(`the database is damaged: ${first}`)
  }
  return comparisons
}

/** How the stored values differ from the acknowledged ones. */
function compare(acknowledged: Iterable<string>, found: string[]) {
  const [expected, stored] = [new Set(acknowledged), new Set(found)]
  return {
    acknowledged: expected.size,
    lost: [...expected.difference(stored)],
    duplicates: found.length - stored.size,
    unknown: [...stored.difference(expected)],
  }
}
