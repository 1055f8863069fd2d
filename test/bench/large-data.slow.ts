import { expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openData } from '../../src/cli/data/open-data.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { onSqlite } from '../support/databases.ts'
import { makeLargeData, sizeOf } from './scale/large-data.ts'

onSqlite('the data is written directly into the database file')(
  'bulk data equals what the services would have written',
  async () => {
    const dataDir = join(await mkdtemp(join(tmpdir(), 'homeport-large-')), 'data')
    const size = sizeOf(0.0003)
    await makeLargeData(dataDir, size, () => {})
    const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off' })
    {
      await using data = await openData(config, createLog('error'))
      const { rebuildBilling, users, eventSearch } = data.services
      const { changed } = await rebuildBilling(AbortSignal.timeout(30_000))
      expect(changed).toEqual([])
      expect((await users.directory.count()).users).toBe(size.users)
      expect((await eventSearch.countStored()).events).toBeGreaterThanOrEqual(size.events)
    }
    await rm(join(dataDir, '..'), { recursive: true })
  },
  30_000,
)
