import { existsSync } from 'node:fs'
import { link, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { UsageError } from '../../lib/command.ts'
import { renameDurably } from '../../lib/durable-file.ts'
import { hashOfFile } from '../../lib/file-hash.ts'
import { EXIT, type LocalCommand } from '../command.ts'
import { isServing } from '../command-socket.ts'
import { DataError } from '../data-error.ts'
import { databasePath, migrationStatus } from '../open-sqlite.ts'
import { createProgress } from '../progress.ts'
import { describeExecutable, fetchExecutable, previousOf } from './new-executable.ts'
import { restartServer } from './restart.ts'
import { SERVICE_UNIT } from './service.ts'

export const upgrade: LocalCommand = {
  name: 'upgrade',
  summary:
    'Replace this file with another version and restart; roll back if that does not become ready',
  arguments: '<file-or-url>',
  options: [
    ['--sha256 <sum>', 'of the file; that of a URL is looked for in SHA256SUMS beside it'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
  ],
  run: async (given, { sha256, json }, [source = '']) => {
    const config = given()
    const executable = process.execPath
    const incoming = `${executable}.new`
    try {
      const progress = createProgress()
      const sum = typeof sha256 === 'string' ? sha256 : null
      const onProgress = (done: number, total: number) => progress.show('Fetching', done, total)
      const hash = await fetchExecutable(source, incoming, sum, onProgress)
      progress.end()
      const next = await describeExecutable(incoming)
      if ((await hashOfFile(executable)) === hash)
        throw new UsageError(`Version ${next.version} is in place already.`)
      const { applied } = await migrationStatus(config)
      if (next.schemaVersion < applied) {
        throw new UsageError(
          `Version ${next.version} is older than the data: restore a backup of its time instead.`,
        )
      }
      const since = Date.now()
      await rm(previousOf(executable), { force: true })
      await link(executable, previousOf(executable))
      await renameDurably(incoming, executable)
      const failure = await restartWhateverRuns(config)
      if (failure !== null) throw new DataError(await goBack(config, executable, since, failure))
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

/** Null when the new version serves, or nobody did before; else what went wrong. */
async function restartWhateverRuns(config: Config): Promise<string | null> {
  if (process.getuid?.() === 0 && existsSync(SERVICE_UNIT)) {
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
  const aside = await restoreSnapshot(config, since)
  const data = aside === null ? '' : ` What the new one made of the data is in ${aside}.`
  if (process.getuid?.() === 0 && existsSync(SERVICE_UNIT)) {
    Bun.spawnSync(['systemctl', 'restart', 'homeport'])
    return `${said}, started anew.${data}`
  }
  return `${said}: start it.${data}`
}

/** Where the migrated database was put, in the place of which its snapshot is now; null when it was not migrated. */
async function restoreSnapshot(config: Config, since: number): Promise<string | null> {
  const folder = join(config.dataDir, 'snapshots')
  const names = await readdir(folder).catch(() => [])
  const timeOf = (name: string) => Number(/-(\d+)\.db$/.exec(name)?.[1] ?? 0)
  const snapshot = names.find((name) => timeOf(name) >= since)
  if (snapshot === undefined) return null
  const path = databasePath(config)
  const aside = `${path}.upgraded-${since}`
  for (const suffix of ['-wal', '-shm', '']) {
    if (existsSync(path + suffix)) await rename(path + suffix, aside + suffix)
  }
  await link(join(folder, snapshot), path)
  return aside
}
