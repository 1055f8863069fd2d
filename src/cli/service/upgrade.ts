import { existsSync, readFileSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import type { Config } from '../../config.ts'
import { CommandError, EXIT, UsageError } from '../../lib/command.ts'
import { renameDurably } from '../../lib/durable-file.ts'
import { hashOfFile } from '../../lib/file-hash.ts'
import { BUILD } from '../../version.ts'
import type { LocalCommand } from '../command.ts'
import { isServing } from '../command-socket.ts'
import { schemaStatus } from '../migrate.ts'
import { databasePath } from '../open-sqlite.ts'
import { listSnapshots, returnToSnapshot } from '../snapshots.ts'
import { createProgress } from '../terminal.ts'
import { describeExecutable, fetchExecutable, previousOf } from './new-executable.ts'
import { readSignedFile, refuseOlder, urlOf } from './release.ts'
import { restartServer } from './restart.ts'
import { SERVICE_UNIT } from './service.ts'
import { dataDirOf } from './unit.ts'

export const upgrade: LocalCommand = {
  name: 'upgrade',
  summary: 'Replace this file with another version and restart; roll back if that fails',
  arguments: '<file-or-url>',
  options: [
    ['--unsigned', 'take a file that no release key has signed and that you have checked yourself'],
    ['--allow-downgrade', 'take an older version'],
    ['--sha256 <sum>', 'also require this SHA-256'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
  ],
  run: async (given, { unsigned, allowDowngrade, sha256, json }, [source = '']) => {
    if (!Bun.isStandaloneExecutable)
      throw new UsageError('Only the executable can be upgraded: pull the sources and restart.')
    if (unsigned && urlOf(source) !== null)
      throw new UsageError('A release from a URL must be signed: --unsigned is for files.')
    const config = configOf(given())
    const executable = process.execPath
    const incoming = `${executable}.new`
    try {
      const signed = unsigned ? null : await readSignedFile(source)
      if (signed && !allowDowngrade) refuseOlder(signed)
      const sums = [signed?.sum, sha256].filter((sum) => typeof sum === 'string')
      const progress = createProgress()
      const onProgress = (done: number, total: number) => progress.show('Fetching', done, total)
      const hash = await fetchExecutable(source, incoming, sums, onProgress).finally(progress.end)
      // Nothing of it has run until here.
      const next = await describeExecutable(incoming)
      if ((await hashOfFile(executable)) === hash)
        throw new UsageError(`Version ${BUILD} is in place already.`)
      if (!allowDowngrade) refuseOlder(next)
      const { applied } = await schemaStatus(config)
      if (next.schemaVersion < applied) {
        throw new UsageError(
          `Version ${next.version} is older than the data: go back with "homeport migrate --back-to-snapshot", or restore a backup of its time.`,
        )
      }
      const since = Date.now()
      await rm(previousOf(executable), { force: true })
      await link(executable, previousOf(executable))
      await renameDurably(incoming, executable)
      const failure = await restartWhateverRuns(config)
      if (failure !== null) throw new CommandError(await goBack(config, executable, since, failure))
      const outcome = { version: next.version, previous: previousOf(executable) }
      console.log(
        json
          ? JSON.stringify(outcome)
          : `Version ${next.version} is in place; the one before is ${outcome.previous}.`,
      )
      return EXIT.done
    } finally {
      await rm(incoming, { force: true })
    }
  },
}

/** Root upgrades the service, whose data is where its unit says and not where root stands. */
function configOf(own: Config): Config {
  if (!isService() || existsSync(databasePath(own))) return own
  return { ...own, dataDir: dataDirOf(readFileSync(SERVICE_UNIT, 'utf8')) ?? own.dataDir }
}

function isService(): boolean {
  return process.getuid?.() === 0 && existsSync(SERVICE_UNIT)
}

/** Null when the new version serves, or nobody did before; else what went wrong. */
async function restartWhateverRuns(config: Config): Promise<string | null> {
  if (isService()) {
    const { exitCode, stderr } = Bun.spawnSync(['systemctl', 'reload-or-restart', 'homeport'])
    return exitCode === 0 ? null : stderr.toString().trim()
  }
  if (!(await isServing(config))) return null
  return restartServer(config).then(
    () => null,
    (error: Error) => error.message,
  )
}

/** The version before is put back, and the data as it was before the new one changed its schema. Says what was done. */
async function goBack(config: Config, executable: string, since: number, failure: string) {
  const back = `${executable}.back`
  await link(previousOf(executable), back)
  await renameDurably(back, executable)
  const said = `The new version does not serve: ${failure} The one before is in place again`
  if (await isServing(config)) return `${said} and serves on.`
  const aside = await undoMigration(config, since)
  const data = aside === null ? '' : ` What the new one made of the data is in ${aside}.`
  if (isService()) {
    Bun.spawnSync(['systemctl', 'restart', 'homeport'])
    return `${said}, started anew.${data}`
  }
  return `${said}: start it.${data}`
}

/** Where the migrated database was put; null when it was not migrated. */
async function undoMigration(config: Config, since: number): Promise<string | null> {
  const [snapshot] = await listSnapshots(config)
  if (snapshot === undefined || snapshot.at.getTime() < since) return null
  return returnToSnapshot(config, snapshot)
}
