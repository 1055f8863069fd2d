import { beforeAll, expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../../support/executable.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')
const WALK = /```sh walk\n(.*?)```/s
const HOMEPORT = '"$HOMEPORT/dist/homeport"'
const READ = /"subscriptions":\[\{[^}]*"status":"(\w+)"[^}]*"willRenew":(\w+)/g

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the commands of the manual lead from an empty folder over a payment to a cancellation',
  async () => {
    await using homeport = await installExecutable()
    const [port, stripePort] = [freePort(), freePort()]
    const manual = await Bun.file(join(ROOT, 'docs', 'web-checkout.md')).text()
    const commands = (WALK.exec(manual)?.[1] ?? '')
      .replaceAll(HOMEPORT, join(homeport.folder, 'homeport'))
      .replaceAll(':3000', `:${port}`)
      .replaceAll(':4922', `:${stripePort}`)
    const script = `trap 'kill $(jobs -p)' EXIT\n${commands}`
    const { stdout, stderr, exitCode } = Bun.spawnSync(['bash', '-c', script], {
      cwd: homeport.folder,
      env: {
        PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
        HOMEPORT: ROOT,
        HOMEPORT_URL: `http://localhost:${port}`,
        PORT: String(port),
        STRIPE_PORT: String(stripePort),
        DATA_DIR: join(homeport.folder, 'data'),
      },
    })
    await rm(join(ROOT, 'stripe.env'), { force: true })
    const text = `${stdout}${stderr}`
    const read = [...text.matchAll(READ)].map(([, status, willRenew]) => [status, willRenew])
    expect(read).toEqual([
      ['trialing', 'true'],
      ['trialing', 'false'],
    ])
    expect(text).toMatch(/"entitlements":\[\{"id":"pro","active":true/)
    expect(text).toMatch(/si_\w+\tproduction\tprod_\w+\ttrialing\t/)
    expect(text).toContain('STRIPE_API_URL is set')
    expect(exitCode).toBe(0)
  },
  60_000,
)
