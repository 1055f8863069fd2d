import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { withoutPassword } from '../../db/postgres/open.ts'
import { appliedIn, isIntact } from '../../db/sqlite/open.ts'
import { megabytes } from '../../lib/megabytes.ts'
import { checkSecrets } from '../../secrets.ts'
import { exposedStore, filesOf } from '../../usecases/file-settings.ts'
import { backupDirOf, listBackups } from '../backup/backups.ts'
import { isServing } from '../command-socket.ts'
import { openFolders } from '../open-folders.ts'
import { postgresStatus } from '../open-postgres.ts'
import { databasePath, migrationStatus } from '../open-sqlite.ts'
import { type Check, failed, ok, warning } from './check.ts'

const OLD_BACKUP = 2 * 24 * 60 * 60 * 1000

/** What can be seen on this machine. */
export function localChecks(config: Config): Check[] {
  const { dataDir, minFreeBytes, webhookTokens, baseUrl, misspelled } = config
  return [
    { name: 'configuration', run: configuration },
    { name: 'server', run: server },
    { name: 'disk', run: disk },
    { name: 'folders', run: folders },
    ...(config.databaseUrl === null
      ? [
          { name: 'database', run: database },
          { name: 'secrets', run: secrets },
        ]
      : [{ name: 'database', run: databaseServer }]),
    ...(config.filesUrl ? [{ name: 'files', run: store }] : []),
    { name: 'backup', run: backup },
  ]

  async function configuration() {
    const [wrong] = misspelled
    if (wrong) return warning(`${wrong.name} is no variable`, `Did you mean ${wrong.meant}?`)
    if (webhookTokens.length === 0) {
      return warning('WEBHOOK_TOKEN is not set', 'Set it, or billing events are refused with 503.')
    }
    if (baseUrl === null) {
      return warning('BASE_URL is not set', 'Set it, or links in mails lead to this machine.')
    }
    return ok('understood')
  }

  async function server() {
    return (await isServing(config))
      ? ok('is running')
      : failed('is not running', 'Start it: "systemctl start homeport", or "homeport serve".')
  }

  async function disk() {
    const { bavail, bsize } = statfsSync(dataDir)
    const free = bavail * bsize
    const text = `${megabytes(free)} free`
    if (free < minFreeBytes) return failed(text, 'Free some space: uploads are refused.')
    if (free < 2 * minFreeBytes) return warning(text, 'Uploads are refused below MIN_FREE_BYTES.')
    return ok(text)
  }

  async function folders() {
    const [sentence] = openFolders(config)
    return sentence === undefined
      ? ok('nobody else may write to them')
      : failed('are open to others', sentence)
  }

  async function databaseServer() {
    const { applied, known } = await postgresStatus(config)
    const place = withoutPassword(config.databaseUrl ?? '')
    return applied === known.length
      ? ok(`${place} answers`)
      : warning(`${place} lacks ${known.length - applied} migrations`, 'Start the server.')
  }

  async function database() {
    const { applied, known } = await migrationStatus(config)
    const path = databasePath(config)
    if (!isIntact(path)) return failed('is damaged', 'Restore the newest backup: homeport restore.')
    const size = megabytes(Bun.file(path).size + Bun.file(`${path}-wal`).size)
    return applied === known.length
      ? ok(`undamaged, ${size}`)
      : warning(`undamaged, ${known.length - applied} migrations to come`, 'Start the server.')
  }

  async function secrets() {
    const folder = join(dataDir, 'secrets')
    const applied = existsSync(databasePath(config)) ? appliedIn(databasePath(config)) : 0
    return checkSecrets(folder, applied).then(
      () => ok('complete, and for this user alone'),
      (error: Error) => failed('are not as they should be', error.message),
    )
  }

  async function store() {
    await filesOf(config, join(dataDir, 'files')).probe()
    const exposed = exposedStore(config)
    return exposed === null
      ? ok('the store of FILES_URL answers')
      : warning('the store of FILES_URL answers over http', exposed)
  }

  async function backup() {
    const [newest] = await listBackups(backupDirOf(config))
    if (!newest) return warning('none', 'Set BACKUP_SCHEDULE, and copy backups to another machine.')
    const text = `${newest.path} of ${newest.at.toISOString()}`
    const isOld = Date.now() - newest.at.getTime() > OLD_BACKUP
    return isOld ? warning(text, 'Older than two days: the log says why.') : ok(text)
  }
}
