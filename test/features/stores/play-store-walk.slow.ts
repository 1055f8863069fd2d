import { beforeAll, expect } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../../support/executable.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')
const WALK = /```sh walk\n(.*?)```/s
const HOMEPORT = '"$HOMEPORT/dist/homeport"'
/** A line that does not continue the command before it. */
const COMMAND = /^\S/gm
const SUBMITTED = /"subscriptions":\[\{[^}]*"status":"active"[^}]*"expiresAt":"([^"]+)"/
const LISTED = /\tproduction\tprod_example_pro:monthly\tactive\t(\S+)\t(\S+)/
const MIN_MONTH_MS = 27 * 24 * 60 * 60 * 1000

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the ten commands of the manual lead from the settings over a renewal to a refund',
  async () => {
    await using homeport = await installExecutable()
    const [port, storePort] = [freePort(), freePort()]
    const manual = await Bun.file(join(ROOT, 'docs', 'google-play.md')).text()
    const walk = WALK.exec(manual)?.[1] ?? ''
    expect(walk.match(COMMAND)).toHaveLength(10)
    // The manual says that this check finds no fault.
    const commands = `${walk}${HOMEPORT} stores check`
      .replaceAll(HOMEPORT, join(homeport.folder, 'homeport'))
      .replaceAll(':3000', `:${port}`)
      .replaceAll(':4921', `:${storePort}`)
    const script = `trap 'kill $(jobs -p)' EXIT\n${commands}`
    const { stdout, stderr, exitCode } = Bun.spawnSync(['bash', '-c', script], {
      cwd: homeport.folder,
      env: {
        PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
        HOMEPORT: ROOT,
        HOMEPORT_URL: `http://localhost:${port}`,
        PORT: String(port),
        PLAY_STORE_PORT: String(storePort),
        DATA_DIR: join(homeport.folder, 'data'),
      },
    })
    await rm(join(ROOT, 'play-store.env'), { force: true })
    const text = `${stdout}${stderr}`
    expect(text).toContain('"outcome":"bound"')
    expect(text).toMatch(/"entitlements":\[\{"id":"\w+","active":true/)
    const [, firstEnd = ''] = SUBMITTED.exec(text) ?? []
    const [, renewedEnd = '', owner] = LISTED.exec(text) ?? []
    expect(owner).toMatch(/^[0-9a-f-]{36}$/)
    expect(Date.parse(renewedEnd) - Date.parse(firstEnd)).toBeGreaterThan(MIN_MONTH_MS)
    expect(text).toMatch(/"entitlements":\[\{"id":"\w+","active":false.*"status":"refunded"/)
    expect(text).toContain('PLAY_API_URL is set')
    expect(exitCode).toBe(0)
  },
  60_000,
)
