import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { EXIT, UsageError } from '../../lib/command.ts'
import type { LocalCommand } from '../command.ts'
import { confirmRisk, writeOutput } from '../terminal.ts'
import { olderPath, previousPath } from './new-executable.ts'
import { formatUnit } from './unit.ts'

const NAME = 'homeport'
const PATHS = {
  executable: '/usr/local/bin/homeport',
  environment: '/etc/homeport.env',
  unit: '/etc/systemd/system/homeport.service',
  sysctl: '/etc/sysctl.d/60-homeport.conf',
  /** The setting in `sysctl`, until the next boot. */
  migration: '/proc/sys/net/ipv4/tcp_migrate_req',
  home: '/var/lib/homeport',
  /** Exists on machines that run systemd. */
  systemd: '/run/systemd/system',
}
type Paths = typeof PATHS
type Run = (...command: [string, ...string[]]) => Promise<void>

/** The exit code of `useradd` when the user already exists. */
const USER_EXISTS = 9

export const SERVICE_UNIT = PATHS.unit
export const SERVICE_ENVIRONMENT = PATHS.environment

/** Connections in the queue of a closed socket migrate to the socket that replaces it. */
const SYSCTL = 'net.ipv4.tcp_migrate_req = 1\n'

export const serviceInstall: LocalCommand = {
  name: 'service install',
  summary: 'As root: install this executable as a systemd service with its own user and folders',
  options: [
    ['--print', 'only print the unit'],
    ['--yes', 'skip the confirmation'],
  ],
  run: async (_loadConfig, { print, yes }) => {
    if (print) {
      writeOutput(formatUnit({ user: NAME, ...PATHS }))
      return EXIT.done
    }
    if (!Bun.isStandaloneExecutable)
      throw new UsageError(
        'Only an executable can be installed as a service: run "bun run build" first.',
      )
    requireRoot()
    if (existsSync(PATHS.unit) && !yes) confirmRisk(`${PATHS.unit} exists and will be replaced.`)
    writeOutput(nextSteps(await installService(PATHS, run)))
    return EXIT.done
  },
}

export const serviceUninstall: LocalCommand = {
  name: 'service uninstall',
  summary: 'As root: stop and remove the service; data and configuration are kept',
  options: [['--yes', 'skip the confirmation']],
  run: async (_loadConfig, { yes }) => {
    requireRoot()
    if (!existsSync(PATHS.unit)) throw new UsageError('There is no service to remove.')
    if (!yes)
      confirmRisk(
        `The service will be stopped, and ${PATHS.executable} and ${previousPath(PATHS.executable)} will be deleted.`,
      )
    for (const failure of await removeService(PATHS, run)) console.error(failure)
    writeOutput(
      `Removed the service and ${PATHS.executable}. ${PATHS.home}, ${PATHS.environment} and the user ${NAME} were kept.`,
    )
    return EXIT.done
  },
}

/** Returns whether it created the configuration. Throws `UsageError` without systemd, before any change. */
export async function installService(paths: Paths, run: Run): Promise<boolean> {
  requireSystemd(paths)
  await installExecutable(paths)
  const isNew = await writeEnvironment(paths)
  await run('useradd', '--system', '--home-dir', paths.home, '--shell', '/usr/sbin/nologin', NAME)
  await mkdir(paths.home, { recursive: true, mode: 0o700 })
  await chown(paths.home, await readId('-u'), await readId('-g'))
  // So that commands run by the service's user can read the configuration.
  await chown(paths.environment, 0, await readId('-g'))
  await chmod(paths.environment, 0o640)
  await writeFile(paths.sysctl, SYSCTL)
  await writeFile(paths.unit, formatUnit({ user: NAME, ...paths }))
  await run('systemctl', 'daemon-reload')
  // Optional, and read-only in a container.
  await writeFile(paths.migration, '1').catch(() => {})
  await run('systemctl', 'enable', '--now', NAME)
  return isNew
}

/** Removes the files of the service even when systemctl fails, and returns its messages. */
export async function removeService(paths: Paths, run: Run): Promise<string[]> {
  const failures: string[] = []
  const collect = (error: Error) => void failures.push(error.message)
  await run('systemctl', 'disable', '--now', NAME).catch(collect)
  const executables = [
    paths.executable,
    previousPath(paths.executable),
    olderPath(paths.executable),
  ]
  for (const path of [paths.unit, paths.sysctl, ...executables]) await rm(path, { force: true })
  await run('systemctl', 'daemon-reload').catch(collect)
  return failures
}

function requireSystemd({ systemd }: Paths) {
  if (existsSync(systemd)) return
  throw new UsageError(
    `This machine does not run systemd (there is no ${systemd}): nothing was changed. Start "homeport serve" with your service manager, or in a container.`,
  )
}

/** A running executable cannot be overwritten, but another file can take its name. */
async function installExecutable(paths: Paths) {
  if (process.execPath === paths.executable) return
  const incoming = `${paths.executable}.new`
  await copyFile(process.execPath, incoming)
  await chmod(incoming, 0o755)
  await rename(incoming, paths.executable)
}

/** Creates the environment file unless it exists. Returns whether it was created. */
async function writeEnvironment({ environment }: Paths): Promise<boolean> {
  if (existsSync(environment)) return false
  const example = `# The configuration of homeport: "homeport help environment" lists all variables. After a change: systemctl restart homeport
WEBHOOK_TOKEN=${randomBytes(32).toString('hex')}
BACKUP_SCHEDULE=15 2 * * *
# The public key that age-keygen prints. Without BACKUP_KEY, backups are NOT encrypted.
# BACKUP_KEY=age1…
# TLS_DOMAINS=api.example.com
# SMTP_URL=smtp://user:password@mail.example.com:587
`
  await writeFile(environment, example, { mode: 0o600 })
  return true
}

async function readId(flag: '-u' | '-g'): Promise<number> {
  return Number(await Bun.$`id ${flag} ${NAME}`.text())
}

/** Runs a system program. Throws with its message, except when the user already exists. */
async function run(...command: [string, ...string[]]) {
  if (Bun.which(command[0]) === null)
    throw new UsageError(`This machine has no "${command[0]}", which the service needs.`)
  const child = Bun.spawn(command, { stdio: ['ignore', 'ignore', 'pipe'] })
  const message = await child.stderr.text()
  const exitCode = await child.exited
  if (exitCode === 0 || (command[0] === 'useradd' && exitCode === USER_EXISTS)) return
  throw new UsageError(`"${command.join(' ')}" failed: ${message.trim()}`)
}

function requireRoot() {
  if (process.getuid?.() !== 0) throw new UsageError('Run this as root: sudo homeport service …')
}

function nextSteps(isNew: boolean): string {
  const edit = isNew
    ? [`Set TLS_DOMAINS or BASE_URL in ${PATHS.environment}, then: systemctl restart ${NAME}`]
    : []
  return [
    `The service is running: systemctl status ${NAME}, journalctl -u ${NAME}.`,
    ...edit,
    `The billing provider must send the header "Authorization: Bearer <token>", with the WEBHOOK_TOKEN from ${PATHS.environment}.`,
  ].join('\n')
}
