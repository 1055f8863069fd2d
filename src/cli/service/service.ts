import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { UsageError } from '../../lib/command.ts'
import { EXIT, type LocalCommand } from '../command.ts'
import { confirmRisk } from '../confirm.ts'
import { previousOf } from './new-executable.ts'
import { unitOf } from './unit.ts'

const NAME = 'homeport'
const PLACES = {
  executable: '/usr/local/bin/homeport',
  environment: '/etc/homeport.env',
  unit: '/etc/systemd/system/homeport.service',
  sysctl: '/etc/sysctl.d/60-homeport.conf',
  home: '/var/lib/homeport',
}
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
    const unit = unitOf({ user: NAME, ...PLACES })
    if (print) {
      console.log(unit)
      return EXIT.done
    }
    requireRoot()
    if (existsSync(PLACES.unit) && !yes) confirmRisk(`${PLACES.unit} is there and is replaced.`)
    await installExecutable()
    const isNew = await writeEnvironment()
    await run(
      'useradd',
      '--system',
      '--home-dir',
      PLACES.home,
      '--shell',
      '/usr/sbin/nologin',
      NAME,
    )
    await mkdir(PLACES.home, { recursive: true, mode: 0o700 })
    await chown(PLACES.home, await idOf('-u'), await idOf('-g'))
    // Commands of that user know then what the service knows anyway.
    await chown(PLACES.environment, 0, await idOf('-g'))
    await chmod(PLACES.environment, 0o640)
    await writeFile(PLACES.sysctl, SYSCTL)
    await writeFile(PLACES.unit, unit)
    await run('systemctl', 'daemon-reload')
    // Its program alone is on every system that has systemd; in a container it is skipped.
    await run('systemctl', 'restart', 'systemd-sysctl')
    await run('systemctl', 'enable', '--now', NAME)
    console.log(next(isNew))
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
    await run('systemctl', 'disable', '--now', NAME)
    const executables = [PLACES.executable, previousOf(PLACES.executable)]
    for (const path of [PLACES.unit, PLACES.sysctl, ...executables]) await rm(path, { force: true })
    await run('systemctl', 'daemon-reload')
    console.log(
      `The service is gone. ${PLACES.home}, ${PLACES.environment} and the user ${NAME} stay.`,
    )
    return EXIT.done
  },
}

/** A running file cannot be written over, but another one can take its name. */
async function installExecutable() {
  if (process.execPath === PLACES.executable) return
  const incoming = `${PLACES.executable}.new`
  await copyFile(process.execPath, incoming)
  await chmod(incoming, 0o755)
  await rename(incoming, PLACES.executable)
}

/** Returns whether there was none. */
async function writeEnvironment(): Promise<boolean> {
  if (existsSync(PLACES.environment)) return false
  const example = `# The configuration of homeport: its README lists all variables. After a change: systemctl restart homeport
WEBHOOK_TOKEN=${randomBytes(32).toString('hex')}
BACKUP_SCHEDULE=15 2 * * *
# Without it the backup is NOT encrypted: the public key that age-keygen prints.
# BACKUP_KEY=age1…
# TLS_DOMAINS=api.example.com
# SMTP_URL=smtp://user:password@mail.example.com:587
`
  await writeFile(PLACES.environment, example, { mode: 0o600 })
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
