import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { startCaddy, startNginx } from '../support/proxies.ts'
import { restartUnderLoad } from '../support/restarts-under-load.ts'
import { enableSocketMigration } from '../support/socket-migration.ts'

beforeAll(buildExecutable, 300_000)

const RESTARTS = Number(process.env['RESTARTS'] ?? 20)
const RATE = Number(process.env['RATE'] ?? 500)

const routes = [
  ['directly', null],
  ['behind nginx', startNginx],
  ['behind Caddy', startCaddy],
] as const

test.each(routes)(
  '20 restarts lose no request from a keep-alive client: %s',
  async (route, startProxy) => {
    await using migration = await enableSocketMigration()
    await using homeport = await installExecutable()
    const server = await homeport.start({ LOG_LEVEL: 'warn' })
    await using proxy = await startProxy?.(homeport.folder, server.port)
    const plan = { restarts: RESTARTS, rate: RATE, pause: 1_500 }
    const { acknowledged, refused, connections, pid } = await restartUnderLoad(
      homeport,
      proxy?.url ?? server.url,
      plan,
    )
    const all = acknowledged.length + refused.length
    console.log(
      `${route}: ${RESTARTS} restarts, ${all} requests, ${connections} connections, ${refused.length} lost, sockets migrate: ${migration.isOn}`,
    )
    for (const request of refused.slice(0, 20)) console.log(`  ${request}`)
    process.kill(pid, 'SIGTERM')
    expect(refused).toEqual([])
    expect(connections).toBeLessThan(all / 2)
  },
  300_000,
)
