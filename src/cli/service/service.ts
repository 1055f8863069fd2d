import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { EXIT, UsageError } from '../../lib/command.ts'
import type { LocalCommand } from '../command.ts'
import { confirmRisk } from '../terminal.ts'
import { previousOf } from './new-executable.ts'
import { unitOf } from './unit.ts'

const NAME = 'homeport'
const PLACES = {
  executable: '/usr/local/bin/homeport',
  environment: '/etc/homeport.env',
  unit: '/etc/systemd/system/homeport.service',
  sysctl: '/etc/sysctl.d/60-homeport.conf',
  home: '/var/lib/homeport',
  /** There where systemd runs the machine. */
  systemd: '/run/systemd/system',
}
type Places = typeof PLACES
type Run = (...command: [string, ...string[]]) => Promise<void>

/** How `useradd` says that the user is there. */
const USER_EXISTS = 9

export const SERVICE_UNIT = PLACES.unit

/** What waits to be accepted by a socket that is closed goes to the one that takes its place. */
const SYSCTL = 'net.ipv4.tcp_migrate_req = 1\n'

export const serviceInstall: LocalCommand = {
  name: 'service install',
  summary: 'As root: install this file as a systemd service, with a user and folders of its own',
  options: [
    ['--print', 'only show the unit'],
    ['--yes', 'do it without asking'],
  ],
  run: async (_given, { print, yes }) => {
    if (print) {
      console.log(unitOf({ user: NAME, ...PLACES }))
      return EXIT.done
    }
    requireRoot()
    if (existsSync(PLACES.unit) && !yes) confirmRisk(`${PLACES.unit} is there and is replaced.`)
    console.log(next(await installService(PLACES, run)))
    return EXIT.done
  },
}

export const serviceUninstall: LocalCommand = {
  name: 'service uninstall',
  summary: 'As root: stop and remove the service; data and configuration stay',
  options: [['--yes', 'do it without asking']],
  run: async (_given, { yes }) => {
    requireRoot()
    if (!existsSync(PLACES.unit)) throw new UsageError('There is no service to take away.')
    if (!yes) confirmRisk('The service is stopped and taken away.')
    for (const failure of await removeService(PLACES, run)) console.error(failure)
    console.log(
      `The service is gone. ${PLACES.home}, ${PLACES.environment} and the user ${NAME} stay.`,
    )
    return EXIT.done
  },
}

/** Returns whether there was no configuration. Throws `UsageError` before the first change where systemd does not run. */
export async function installService(places: Places, run: Run): Promise<boolean> {
  requireSystemd(places)
  await installExecutable(places)
  const isNew = await writeEnvironment(places)
  await run('useradd', '--system', '--home-dir', places.home, '--shell', '/usr/sbin/nologin', NAME)
  await mkdir(places.home, { recursive: true, mode: 0o700 })
  await chown(places.home, await idOf('-u'), await idOf('-g'))
  // Commands of that user know then what the service knows anyway.
  await chown(places.environment, 0, await idOf('-g'))
  await chmod(places.environment, 0o640)
  await writeFile(places.sysctl, SYSCTL)
  await writeFile(places.unit, unitOf({ user: NAME, ...places }))
  await run('systemctl', 'daemon-reload')
  // Its program alone is on every system that has systemd; in a container it is skipped.
  await run('systemctl', 'restart', 'systemd-sysctl')
  await run('systemctl', 'enable', '--now', NAME)
  return isNew
}

/** Removes the files of the service also where systemctl fails, and returns what it said. */
export async function removeService(places: Places, run: Run): Promise<string[]> {
  const failures: string[] = []
  const note = (error: Error) => void failures.push(error.message)
  await run('systemctl', 'disable', '--now', NAME).catch(note)
  const executables = [places.executable, previousOf(places.executable)]
  for (const path of [places.unit, places.sysctl, ...executables]) await rm(path, { force: true })
  await run('systemctl', 'daemon-reload').catch(note)
  return failures
}

function requireSystemd({ systemd }: Places) {
  if (existsSync(systemd)) return
  throw new UsageError(
    `systemd does not run this machine (there is no ${systemd}): nothing was changed. Start "homeport serve" by what does, or in a container.`,
  )
}

/** A running file cannot be written over, but another one can take its name. */
async function installExecutable(places: Places) {
  if (process.execPath === places.executable) return
  const incoming = `${places.executable}.new`
  await copyFile(process.execPath, incoming)
  await chmod(incoming, 0o755)
  await rename(incoming, places.executable)
}

/** Returns whether there was none. */
async function writeEnvironment({ environment }: Places): Promise<boolean> {
  if (existsSync(environment)) return false
  const example = `# The configuration of homeport: its README lists all variables. After a change: systemctl restart homeport
WEBHOOK_TOKEN=${randomBytes(32).toString('hex')}
BACKUP_SCHEDULE=15 2 * * *
# Without it the backup is NOT encrypted: the public key that age-keygen prints.
# BACKUP_KEY=age1…
# TLS_DOMAINS=api.example.com
# SMTP_URL=smtp://user:password@mail.example.com:587
`
  await writeFile(environment, example, { mode: 0o600 })
  return true
}

async function idOf(flag: '-u' | '-g'): Promise<number> {
  return Number(await Bun.$`id ${flag} ${NAME}`.text())
}

/** Runs a program of the system. Throws with what it says; a user that is there already is fine. */
async function run(...command: [string, ...string[]]) {
  if (Bun.which(command[0]) === null)
    throw new UsageError(`This machine has no "${command[0]}", which the service needs.`)
  const child = Bun.spawn(command, { stdio: ['ignore', 'ignore', 'pipe'] })
  const said = await child.stderr.text()
  const exitCode = await child.exited
  if (exitCode === 0 || (command[0] === 'useradd' && exitCode === USER_EXISTS)) return
  throw new UsageError(`"${command.join(' ')}" failed: ${said.trim()}`)
}

function requireRoot() {
  if (process.getuid?.() !== 0) throw new UsageError('Run this as root: sudo homeport service …')
}

function next(isNew: boolean): string {
  const edit = isNew
    ? [`Set TLS_DOMAINS or BASE_URL in ${PLACES.environment}, then: systemctl restart ${NAME}`]
    : []
  return [
    `The service runs: systemctl status ${NAME}, journalctl -u ${NAME}.`,
    ...edit,
    `The billing provider sends the token in ${PLACES.environment}, behind "Bearer ".`,
  ].join('\n')
}
