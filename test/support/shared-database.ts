import { join } from 'node:path'
import { loadSecrets, STORE_CLAIM, secretFile } from '../../src/config/secrets.ts'
import { readPegs } from '../../src/server/seed.ts'
import { createServices } from '../../src/server/services.ts'
import type { TestApp } from './app.ts'

/** Two instances on the database of an app. They also run on SQLite, because they share its connection. */
export async function openInstances({ services, dataDir, clock }: TestApp) {
  const { config, db, log } = services
  const folder = join(dataDir, 'secrets-of-instances')
  const secrets = await loadSecrets(
    (name) => secretFile(folder, name),
    secretFile(folder, STORE_CLAIM),
  )
  const pegs = await readPegs()
  const open = () =>
    createServices({
      config,
      db,
      log,
      secrets,
      pegs,
      imageCommand: [],
      requestsPerSecond: 100,
      now: () => clock.now,
    })
  return [await open(), await open()] as const
}
