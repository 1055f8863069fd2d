import { beforeAll, expect } from 'bun:test'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable } from '../../support/executable.ts'
import { HOMEPORT, readWalk, runWalk } from '../../support/walk.ts'

/** A line that begins a command. */
const COMMAND = /^\S/gm
const SUBMITTED = /"subscriptions":\[\{[^}]*"status":"active"[^}]*"expiresAt":"([^"]+)"/
const LISTED = /\tproduction\tprod_example_pro:monthly\tactive\t(\S+)\t(\S+)/
const MIN_MONTH_MS = 27 * 24 * 60 * 60 * 1000

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the ten commands in the documentation lead from the settings through a renewal to a refund',
  async () => {
    const walk = await readWalk('google-play.md')
    expect(walk.match(COMMAND)).toHaveLength(10)
    // The documentation says that this check reports no problems.
    const { text, exitCode } = await runWalk(`${walk}${HOMEPORT} stores check`, {
      storePort: ['PLAY_STORE_PORT', 4921],
      settingsFile: 'play-store.env',
    })
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
