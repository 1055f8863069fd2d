import { beforeAll, expect } from 'bun:test'
import { onSqlite } from '../../support/databases.ts'
import { buildExecutable } from '../../support/executable.ts'
import { readWalk, runWalk } from '../../support/walk.ts'

beforeAll(buildExecutable, 300_000)

onSqlite('it starts a server in an empty folder')(
  'the ten commands in the documentation lead from the settings to a paying user',
  async () => {
    const { text } = await runWalk(await readWalk('app-store.md'), {
      storePort: ['APP_STORE_PORT', 4920],
      settingsFile: 'app-store.env',
    })
    expect(text.match(/^ok\t/gm)).toHaveLength(5)
    expect(text).toContain('"outcome":"bound"')
    expect(text).toMatch(/"entitlements":\[\{"id":"\w+","active":true/)
    expect(text).toMatch(/\tproduction\tprod_example_pro\tactive\t/)
    expect(text).toContain('APP_STORE_ROOT_FILE is set')
  },
  60_000,
)
