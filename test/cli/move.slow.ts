import { beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { ALLOW_CHANGES } from '../../src/platform/db/postgres/moved.ts'
import { createTestDatabase, isOnPostgres, ON_DISK } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { deliver, register } from '../support/requests.ts'

const onPostgres = test.skipIf(!isOnPostgres)

beforeAll(buildExecutable, 300_000)

onPostgres(
  'moving data off a database server loses no change that a running instance acknowledges',
  async () => {
    await using homeport = await installExecutable()
    const { DATABASE_URL: url = '' } = homeport.environment
    const server = await homeport.start({ RATE_LIMITS: 'off' })
    expect((await deliver(server, 'E-1')).status).toBe(200)
    const back = { ...ON_DISK, DATA_DIR: 'back', TARGET_URL: url }
    const refused = await homeport.run(['db', 'copy', '--from', 'env:TARGET_URL'], back)
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/connections to .* are open \(\d+\): stop every instance/),
    ])
    await register(server, 'bea@example.com')

    const moved = await homeport.run(['db', 'copy', '--from', 'env:TARGET_URL', '--yes'], back)
    expect([moved.stderr, moved.exitCode]).toEqual(['', 0])
    expect((await deliver(server, 'E-2')).status).toBe(503)
    expect((await fetch(`${server.url}/ready`)).status).toBe(503)
    await homeport.waitForLogLine('homeport db copy has moved this data')
    expect((await homeport.run(['user', 'list'], back)).stdout).toContain('bea@example.com')
    await server.stop()

    const { exitCode, stderr } = await homeport.run(['serve'])
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/was moved to .*\/back on /)])
    expect(stderr).toContain(ALLOW_CHANGES)
    await using sql = new SQL({ url, max: 1 })
    await sql.unsafe(ALLOW_CHANGES)
    const resumed = await homeport.start({ RATE_LIMITS: 'off' })
    expect((await deliver(resumed, 'E-2')).status).toBe(200)
    await resumed.stop()
  },
  30_000,
)

onPostgres(
  'after an interrupted copy no instance starts, and the same command resumes the copy',
  async () => {
    await using homeport = await installExecutable()
    const { DATABASE_URL: url = '' } = homeport.environment
    await homeport.run(['init'])
    await homeport.run(['user', 'create', 'ann@example.com'])
    const back = { ...ON_DISK, DATA_DIR: 'back', TARGET_URL: url }
    const wrongKey = { ...back, SECRET_KEY: 'not the secret key of all tests here' }
    const failedCopy = await homeport.run(['db', 'copy', '--from', 'env:TARGET_URL'], wrongKey)
    expect([failedCopy.exitCode, failedCopy.stderr]).toEqual([
      1,
      expect.stringMatching(/^SECRET_KEY is not the one.*\n$/),
    ])
    expect((await homeport.run(['user', 'list'])).exitCode).toBe(0)
    // Prevents the copy from writing its file.
    await Bun.write(join(homeport.folder, 'back', 'copy.tmp', 'homeport.db', 'in-the-way'), '')
    expect((await homeport.run(['db', 'copy', '--from', 'env:TARGET_URL'], back)).exitCode).toBe(1)
    const status = await homeport.run(['user', 'list'])
    expect([status.exitCode, status.stderr]).toEqual([1, expect.stringContaining('interrupted')])
    await rm(join(homeport.folder, 'back', 'copy.tmp'), { recursive: true })
    expect(await homeport.run(['db', 'copy', '--from', 'env:TARGET_URL'], back)).toMatchObject({
      exitCode: 0,
    })
    expect((await homeport.run(['user', 'list'], back)).stdout).toContain('ann@example.com')
  },
  30_000,
)

onPostgres(
  'after an interrupted copy no server starts on the data directory until the copy is resumed or cancelled',
  async () => {
    await using homeport = await installExecutable()
    await using inUse = await createTestDatabase()
    const { DATABASE_URL: usedUrl = '' } = inUse.environment
    const { DATABASE_URL: emptyUrl = '' } = homeport.environment
    await homeport.run(['init'], ON_DISK)
    await homeport.run(['user', 'create', 'ann@example.com'], ON_DISK)
    // Marks the target as an unfinished copy of other data, so that this copy fails halfway.
    await using sql = new SQL({ url: usedUrl, max: 1 })
    await sql`INSERT INTO shared_versions (name, version) VALUES ('copy', 0)`
    const failed = await homeport.run(['db', 'copy', '--to', usedUrl], ON_DISK)
    expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining('copy again')])
    const started = await homeport.run(['serve'], ON_DISK)
    expect([started.exitCode, started.stderr]).toEqual([
      1,
      expect.stringMatching(/is unfinished: run .* again, or remove .*moved-to.txt to cancel/),
    ])
    const backup = ['backup', '--out', 'part.tar', '--unencrypted']
    const part = await homeport.run(backup, { DATABASE_URL: usedUrl })
    expect([part.exitCode, part.stderr]).toEqual([1, expect.stringContaining('is unfinished')])
    const overwritten = await homeport.run(['db', 'copy', '--from', usedUrl], ON_DISK)
    expect(overwritten.stderr).toContain('already has data')
    await rm(join(homeport.folder, 'data', 'moved-to.txt'))
    expect((await homeport.run(['user', 'list'], ON_DISK)).stdout).toContain('ann@example.com')
    await homeport.run(['db', 'copy', '--to', usedUrl], ON_DISK)
    const copied = await homeport.run(['db', 'copy', '--to', 'env:TARGET_URL'], {
      ...ON_DISK,
      TARGET_URL: emptyUrl,
    })
    expect([copied.stderr, copied.exitCode]).toEqual(['', 0])
    expect((await homeport.run(['user', 'list'])).stdout).toContain('ann@example.com')
  },
  30_000,
)

test.each(['--to', '--from'])(
  'the error for an unreachable database server names the option %s',
  async (option) => {
    await using homeport = await installExecutable()
    await homeport.run(['init'], ON_DISK)
    const environment = {
      ...ON_DISK,
      SECRET_KEY: 'the secret key of all tests here',
      DATA_DIR: option === '--to' ? 'data' : 'back',
    }
    const url = 'postgres://127.0.0.1:1/homeport'
    const { exitCode, stderr } = await homeport.run(['db', 'copy', option, url], environment)
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining(`check ${option} and its server`),
    ])
    expect((await homeport.run(['user', 'list'], ON_DISK)).exitCode).toBe(0)
  },
)
