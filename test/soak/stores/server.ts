import { openData } from '../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../src/config/config.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { createApp } from '../../../src/server/app.ts'
import type { Server } from './process.ts'

// A server whose clock is in a shared file, and whose jobs and data the soak reaches over HTTP.
// Usage: bun server.ts <clock file>, with the settings in the environment.

const [, , clockFile = ''] = process.argv
const shared = new Float64Array(Bun.mmap(clockFile).buffer, 0, 1)
const config = readConfig({}, process.env as Record<string, string>)
const log = createLog(config.logLevel, { write: (line) => process.stderr.write(line) })
const { services } = await openData(config, log, {
  now: () => new Date(shared[0] ?? 0),
  requestsPerSecond: 1_000,
})
const app = createApp(services)
const { stores, subscription, eventFolding, backlog, rebuildBilling } = services
const signal = new AbortController().signal

const control: Server = {
  async runJobs({ isHourly, isQuarterDaily }) {
    await stores.overdue?.queue.flush()
    await stores.play?.queue.flush()
    if (isHourly) await stores.stripe?.catchUp('PRODUCTION', signal).catch(() => {})
    await stores.stripe?.queue.flush()
    if (isHourly) await stores.history?.catchUp('PRODUCTION', { signal }).catch(() => {})
    if (isQuarterDaily) await stores.play?.voided.catchUp().catch(() => {})
    await eventFolding.retryFailed(signal)
    await backlog.flush()
  },
  submit: ({ userId, purchases }) => stores.submit({ userId, ip: userId }, purchases, false),
  async readAccess({ userIds }) {
    const read = userIds.map((userId) => subscription.readForExport(userId, 'production'))
    return (await Promise.all(read)).map(({ subscriptions }) => subscriptions)
  },
  async readPurchases() {
    const rows = await services.db.read.select().from(services.db.tables.subscriptions)
    return rows.map(({ purchaseKey, state }) => ({ purchaseKey, state }))
  },
  async rebuild() {
    return (await rebuildBilling(signal)).changed.length
  },
  readServerId: async () => (await stores.stripe?.status.read())?.serverId ?? '',
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith('/-/')) return app.handle(request)
    const name = pathname.slice(3) as keyof Server
    const reply = await control[name]((await request.json()) as never)
    return Response.json(reply ?? null)
  },
})
console.log(server.port)
