import { beforeAll, expect, spyOn, test } from 'bun:test'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as backups from '../../src/cli/backup/backups.ts'
import { backupJobs, createBackupState } from '../../src/cli/backup/jobs.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const log = createLog('silent')

beforeAll(buildExecutable, 300_000)

/** A folder with backups that are `hoursAgo` old, and the state of an hourly schedule. */
async function withBackups(...hoursAgo: number[]) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-schedule-'))
  for (const hours of hoursAgo) {
    const at = new Date(Date.now() - hours * HOUR)
    const stamp = at.toISOString().replaceAll(/[-:]|\.\d+/g, '')
    const path = join(folder, `homeport-${stamp}.tar`)
    await Bun.write(path, '')
    await utimes(path, at, at)
  }
  const config = readConfig(
    {},
    { DATA_DIR: folder, BACKUP_DIR: folder, BACKUP_SCHEDULE: '0 * * * *' },
  )
  const isDueAtStart = () => backupJobs(config, log)[0]?.isDueAtStart?.()
  return {
    folder,
    config,
    isDueAtStart,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

test('a missed backup is due at startup, and reported when it is hours overdue', async () => {
  for (const [hours, isDue, isFault] of [
    [0, false, false],
    [2, true, false],
    [8, true, true],
  ] as const) {
    await using fixture = await withBackups(hours)
    expect([hours, await fixture.isDueAtStart()]).toEqual([hours, isDue])
    const { fault } = await createBackupState(fixture.config)()
    expect([hours, fault !== null]).toEqual([hours, isFault])
  }
})

test('a failed run is reported until there is a newer backup', async () => {
  await using fixture = await withBackups(0)
  const runAt = (at: number, ms: number) =>
    new Map([['backup', { at: new Date(at), ms, error: 'disk full' }]])
  const faultAfter = async (at: number, ms = 1) =>
    (await createBackupState(fixture.config, runAt(at, ms))()).fault
  expect(await faultAfter(Date.now() + 1_000)).toBe('disk full')
  expect(await faultAfter(Date.now() - HOUR)).toBeNull()
  // The failed run itself wrote the newest backup.
  expect(await faultAfter(Date.now() - HOUR, 2 * HOUR)).toBe('disk full')
})

test('an unresponsive folder is reported, and only one attempt reads it at a time', async () => {
  await using fixture = await withBackups(0)
  using read = spyOn(backups, 'newestBackup').mockReturnValue(new Promise(() => {}))
  const readState = createBackupState(fixture.config)
  const states = await Promise.all([readState(), readState()])
  const unresponsive = { isScheduled: true, fault: expect.stringContaining('does not respond') }
  expect(states).toMatchObject([unresponsive, unresponsive])
  expect(read).toHaveBeenCalledTimes(1)
})

test('backups dated in the future neither hide missing backups nor cause others to be removed', async () => {
  await using fixture = await withBackups(-365 * 24, 8, 32)
  const { fault, newestAt } = await createBackupState(fixture.config)()
  expect([fault !== null, Date.now() - Number(newestAt) > DAY / 4]).toEqual([true, true])
  await backups.removeOldBackups(fixture.folder, 1)
  expect(await readdir(fixture.folder)).toHaveLength(2)
})

test('a schedule with an unwritable directory is reported as failing at startup', async () => {
  const environment = { BACKUP_SCHEDULE: '15 2 * * *', BACKUP_DIR: '/proc/nope' }
  await using homeport = await installExecutable()
  await homeport.run(['init'])
  const fault = '/proc/nope is not writable (ENOENT): check BACKUP_DIR'
  const before = await homeport.run(['doctor'], environment)
  expect([before.exitCode, before.stdout]).toEqual([1, expect.stringContaining(fault)])
  const server = await homeport.start(environment)
  await homeport.waitForLogLine(fault)
  expect(await (await fetch(`${server.url}/ready`)).json()).toMatchObject({ backup: 'failing' })
  expect((await homeport.run(['status'])).stdout).toContain(
    `SCHEDULED BACKUPS ARE FAILING: ${fault}`,
  )
  expect((await homeport.run(['doctor'])).stdout).toContain(fault)
  await server.stop()
}, 30_000)
