import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { link, rename, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { type Config, readVariable } from '../../config/config.ts'
import { parseEnvironmentFile } from '../../config/environment-file.ts'
import { CommandError, EXIT, UsageError } from '../../lib/command.ts'
import { hashFile } from '../../lib/crypto/hash.ts'
import { tryTo } from '../../lib/errors.ts'
import { renameDurably } from '../../lib/files/durable-file.ts'
import { userName } from '../../lib/text/user-name.ts'
import { BUILD } from '../../version.ts'
import type { LocalCommand } from '../command.ts'
import { schemaStatus } from '../data/migrate.ts'
import { listSnapshots } from '../data/snapshots.ts'
import { ignoreStopSignals } from '../processes/stop-signals.ts'
import { isServing } from '../server/command-socket.ts'
import { writeOutcome } from '../terminal.ts'
import {
  assertNotUpgradeTarget,
  fetchExecutable,
  olderPath,
  previousPath,
  readExecutableInfo,
} from './new-executable.ts'
import { assertNotOlder, parseReleaseUrl, readSignedFile } from './release.ts'
import { restartServer } from './restart.ts'
import { SERVICE_ENVIRONMENT, SERVICE_UNIT } from './service.ts'
import { readDataDir } from './unit.ts'

export const upgrade: LocalCommand = {
  name: 'upgrade',
  summary: 'Replace this executable with another version and restart; roll back if that fails',
  arguments: '<file-or-url>',
  options: [
    ['--unsigned', 'install an unsigned file that you have verified yourself'],
    ['--allow-downgrade', 'install an older version'],
    ['--sha256 <sum>', 'also require this SHA-256'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
  ],
  run: async (loadConfig, { unsigned, allowDowngrade, sha256, dataDir, json }, [source = '']) => {
    if (!Bun.isStandaloneExecutable)
      throw new UsageError('Only an executable can be upgraded: pull the source code and restart.')
    if (unsigned && parseReleaseUrl(source) !== null)
      throw new UsageError('A release from a URL must be signed: --unsigned is for local files.')
    const config = chooseConfig(
      loadConfig(),
      dataDir !== undefined || readVariable('DATA_DIR') !== null,
    )
    const executable = process.execPath
    assertNotInContainer(executable)
    const incoming = `${executable}.new`
    // Before the `try`, whose `finally` removes the file.
    await assertNotUpgradeTarget(source, incoming)
    try {
      const signed = unsigned ? null : await readSignedFile(source)
      if (signed && !allowDowngrade) assertNotOlder(signed)
      const sums = [signed?.sum, sha256].filter((sum) => typeof sum === 'string')
      const hash = await fetchExecutable(source, incoming, sums)
      // The downloaded file runs here for the first time.
      const next = await readExecutableInfo(incoming)
      if ((await hashFile(executable)) === hash)
        throw new UsageError(`Version ${BUILD} is already installed.`)
      if (!allowDowngrade) assertNotOlder(next)
      const schema = await findSchema(config)
      if (schema !== null && next.schemaVersion < schema.applied) {
        throw new UsageError(
          `Version ${next.version} is older than the data: run "homeport migrate --back-to-snapshot", or restore a backup from that version.`,
        )
      }
      const since = Date.now()
      // Without the outcome, a bad version would stay installed: a closed terminal must not end the upgrade.
      using _uninterrupted = ignoreStopSignals()
      await replaceExecutable(executable, incoming)
      const failure = await restartIfRunning(config)
      if (failure !== null)
        throw new CommandError(await rollBack(config, executable, since, failure))
      await rm(olderPath(executable), { force: true })
      const outcome = { version: next.version, previous: previousPath(executable) }
      writeOutcome(
        json,
        outcome,
        `Version ${next.version} is installed; the previous one is ${outcome.previous}.${describeOther(config)}`,
      )
      return EXIT.done
    } finally {
      await rm(incoming, { force: true })
    }
  },
}

/** A container that is replaced starts with the executable of its image. */
function assertNotInContainer(executable: string) {
  // Undefined if process 1 is hidden from this user.
  const firstProcess = tryTo(() => readlinkSync('/proc/1/exe'))
  if (firstProcess !== executable) return
  throw new UsageError(
    'A container is upgraded by replacing it: build or pull the new image, then "docker compose up -d" or "kubectl rollout restart".',
  )
}

/** Root upgrades the service, whose environment file or unit names the data. */
function chooseConfig(loaded: Config, isDirectoryGiven: boolean): Config {
  if (!isService() || isDirectoryGiven) return loaded
  const { DATA_DIR, DATABASE_URL, SECRET_KEY } = existsSync(SERVICE_ENVIRONMENT)
    ? parseEnvironmentFile(readFileSync(SERVICE_ENVIRONMENT, 'utf8'))
    : {}
  const dataDir = DATA_DIR ?? readDataDir(readFileSync(SERVICE_UNIT, 'utf8'))
  return {
    ...loaded,
    dataDir: dataDir ?? loaded.dataDir,
    databaseUrl: DATABASE_URL || loaded.databaseUrl,
    secretKey: SECRET_KEY || loaded.secretKey,
  }
}

function isService(): boolean {
  return process.getuid?.() === 0 && existsSync(SERVICE_UNIT)
}

/** Installs `incoming`, and keeps the version that it replaces as the previous one. */
async function replaceExecutable(executable: string, incoming: string) {
  const previous = previousPath(executable)
  // After an interrupted upgrade they may be the same file.
  const isOlder = existsSync(previous) && statSync(previous).ino !== statSync(executable).ino
  if (isOlder) await rename(previous, olderPath(executable))
  await rm(previous, { force: true })
  try {
    await link(executable, previous)
    await renameDurably(incoming, executable)
  } catch (error) {
    await restoreOlder(executable)
    throw error
  }
}

async function restoreOlder(executable: string) {
  const older = olderPath(executable)
  if (existsSync(older)) await rename(older, previousPath(executable))
}

/** Returns the failure; null when the new version is serving, or no server was running. */
async function restartIfRunning(config: Config): Promise<string | null> {
  if (isService()) return systemctl('try-reload-or-restart')
  if (!(await isServing(config))) return null
  return restartServer(config).then(
    () => null,
    (error: Error) => error.message,
  )
}

/** A hint to restart another user's server, which root cannot ask. Empty if this user or systemd runs the server. */
function describeOther({ dataDir }: Config): string {
  if (isService() || !existsSync(dataDir)) return ''
  const { uid } = statSync(dataDir)
  return uid === process.getuid?.()
    ? ''
    : ` If the user ${userName(uid)} runs a server, run "homeport restart" as that user.`
}

/** Runs a command for the service. Returns the failure, or null. */
function systemctl(command: string): string | null {
  // Detached, because Ctrl-C also stops the other processes of the terminal.
  const options = { detached: true }
  const { exitCode, stderr } = Bun.spawnSync(['systemctl', command, 'homeport'], options)
  return exitCode === 0 ? null : stderr.toString().trim()
}

/** Restores the previous version, and the data as it was before the new one migrated it. Returns a report. */
async function rollBack(config: Config, executable: string, since: number, failure: string) {
  await renameDurably(previousPath(executable), executable)
  await restoreOlder(executable)
  const report = `The new version failed to start: ${failure} The previous one is installed again`
  // Only the service's own user can ask the server, and this is root.
  const keepsServing = isService() ? systemctl('is-active') === null : await isServing(config)
  if (keepsServing) return `${report} and keeps serving.${await describeMigrated(config)}`
  // systemd may be starting it again right now.
  if (isService()) systemctl('stop')
  const data = await undoMigration(config, executable, since).catch(
    ({ message }) => ` Its migration could not be undone: ${message}`,
  )
  if (!isService()) return `${report}: start it.${data}`
  const restartFailure = systemctl('restart')
  if (restartFailure === null) return `${report} and was restarted.${data}`
  return `${report}, but does not start either: ${restartFailure}${data}`
}

/** Null if this user cannot reach the database server: the new process refuses a newer schema itself. */
function findSchema(config: Config) {
  return schemaStatus(config).catch((error) => {
    if (config.databaseUrl === null) throw error
    return null
  })
}

/** A warning if the new version has migrated the database server: nothing else shows it until the server stops. */
async function describeMigrated(config: Config): Promise<string> {
  if (config.databaseUrl === null) return ''
  const schema = await findSchema(config)
  return schema !== null && schema.applied > schema.known.length
    ? ' It cannot start again on the migrated database: install a corrected version before it is restarted.'
    : ''
}

/**
 * Undoes a migration that ran after `since` (in ms). Runs as the data's owner, whose links could lead root elsewhere.
 * Returns a sentence, or ''.
 */
export async function undoMigration(config: Config, executable: string, since: number) {
  const { dataDir } = config
  const [snapshot] = await listSnapshots(config)
  if (snapshot === undefined || snapshot.at.getTime() < since) return ''
  const { uid, gid } = await stat(dataDir)
  const args = ['--back-to-snapshot', basename(snapshot.path), '--yes', '--json']
  const child = Bun.spawn([executable, 'migrate', ...args, '--data-dir', dataDir], {
    ...(process.getuid?.() === 0 ? { uid, gid } : {}),
    env: {},
    // The working directory may have a `.env`.
    cwd: dataDir,
    detached: true,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new CommandError(err.trim())
  const { aside } = JSON.parse(out)
  return aside === null ? '' : ` The data that the new version migrated is in ${aside}.`
}
