import { beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { assessDisk, localChecks } from '../../src/cli/doctor/local-checks.ts'
import { readConfig } from '../../src/config/config.ts'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { selfSigned } from '../support/certificates.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../support/executable.ts'
import { postJson } from '../support/requests.ts'
import { startSmtp } from '../support/smtp.ts'

beforeAll(buildExecutable, 300_000)

const HOUR = 60 * 60 * 1000

onSqlite('the expected checks are specific to SQLite')(
  'doctor checks the running configuration of the server and prints no secrets',
  async () => {
    await using homeport = await installExecutable()
    await using smtp = await startSmtp()
    using feed = serveFeed(new Date())
    const port = freePort()
    const env = {
      WEBHOOK_TOKEN: 'secret-webhook-token',
      SMTP_URL: smtp.url,
      RATES_URL: `http://127.0.0.1:${feed.port}/?key=secret-key`,
      MIN_FREE_BYTES: '0',
      RATES_PROVIDER: 'ecb',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
    }
    await homeport.launch(env)
    await homeport.waitForLogLine('listening')
    await homeport.run(['backup'])
    const { stdout, stderr, exitCode } = await homeport.run(['doctor', '--json'])
    expect(exitCode).toBe(0)
    expect(stdout + stderr).not.toContain('secret-')
    const states = Object.fromEntries(
      JSON.parse(stdout).map(({ name, state }: { name: string; state: string }) => [name, state]),
    )
    expect(states).toEqual({
      configuration: 'ok',
      server: 'ok',
      disk: 'ok',
      folders: 'ok',
      database: 'ok',
      secrets: 'ok',
      // On the same disk, and not encrypted.
      backup: 'warning',
      deliveries: 'ok',
      webhooks: 'ok',
      passkeys: 'ok',
      settings: 'ok',
      // The settings and plans of a new installation.
      examples: 'warning',
      mail: 'ok',
      rates: 'ok',
      clock: 'ok',
      billing: 'ok',
      address: 'ok',
      // The test serves plain http.
      certificate: 'warning',
    })
  },
  20_000,
)

onSqlite('the expected checks are specific to SQLite')(
  'doctor explains each problem and how to fix it',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    using feed = serveFeed(new Date(Date.now() - HOUR))
    const data = join(homeport.folder, 'data')
    await chmod(join(data, 'secrets', 'seal.key'), 0o644)
    await chmod(data, 0o777)
    const database = join(data, 'homeport.db')
    const bytes = await Bun.file(database).bytes()
    bytes.fill(0xff, 20_000, 60_000)
    await Bun.write(database, bytes)
    const { stdout, exitCode } = await homeport.run(['doctor'], {
      MIN_FREE_BYTES: String(2 ** 52),
      RATES_URL: `http://127.0.0.1:${feed.port}/`,
      SMTP_URL: 'smtp://user:secret-password@127.0.0.1:1',
      BASE_URL: 'https://127.0.0.1:1',
      BACKUP_KEEEP: '3',
    })
    expect(exitCode).toBe(1)
    const failedChecks = ['disk', 'folders', 'database', 'secrets', 'mail', 'clock', 'address']
    for (const name of failedChecks) expect(stdout).toMatch(new RegExp(`✗ ${name} .*\\n {16}\\S`))
    expect(stdout).toMatch(/! certificate .*ECONNREFUSED/)
    expect(stdout).toContain('Did you mean BACKUP_KEEP?')
    expect(stdout).toMatch(/(3599|360[01]) s off/)
    expect(stdout).not.toContain('secret-password')
  },
  20_000,
)

onSqlite('the expected checks are specific to SQLite')(
  'doctor, status and /metrics report a failing schedule, and doctor also reports refused deliveries',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const backups = join(homeport.folder, 'data', 'backups')
    const old = join(backups, 'homeport-20260101T021500Z.tar')
    await mkdir(backups)
    await Bun.write(old, '')
    await utimes(old, 0, Date.parse('2026-01-01T02:15:00Z') / 1000)
    const port = freePort()
    const env = { BACKUP_SCHEDULE: '15 2 * * *', BACKUP_KEY: 'age1-is-no-recipient' }
    const server = await homeport.start({ ...env, PORT: String(port) })
    // The backup that was missed while no server ran is due at startup.
    await homeport.waitForLogLine('a job failed', 15_000)
    const event = { id: 'E1', type: 'TEST' }
    await postJson(server, '/api/webhooks/billing/v1', { event }, 'another-token')

    const { stdout, exitCode } = await homeport.run(['doctor'])
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/✗ backup .*scheduled backups are failing: .+\n {16}\S/)
    expect(stdout).not.toContain('Set BACKUP_SCHEDULE')
    expect(stdout).toMatch(/✗ deliveries +refused at .* with 401 unauthenticated\n {16}\S/)
    expect(stdout).toMatch(/✗ server .*failing: backup\n/)
    expect((await homeport.run(['status'])).stdout).toContain('SCHEDULED BACKUPS ARE FAILING: ')
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toMatch(/^homeport_component_up\{component="backup".*\} 0$/m)
    const ready = await fetch(`${server.url}/ready`)
    expect([ready.status, await ready.json()]).toEqual([
      200,
      expect.objectContaining({ backup: 'failing' }),
    ])

    await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
    expect((await homeport.run(['doctor'])).stdout).toMatch(
      /! deliveries .*later ones were accepted/,
    )
  },
  40_000,
)

onSqlite('the expected checks are specific to SQLite')(
  'doctor reports whether backups are scheduled, and a key that does not match its certificate',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const paths = { TLS_CERT: join(homeport.folder, 'cert'), TLS_KEY: join(homeport.folder, 'key') }
    const [one, another] = [await selfSigned('a.example.com'), await selfSigned('a.example.com')]
    await Bun.write(paths.TLS_CERT, one.cert)
    await Bun.write(paths.TLS_KEY, another.key)
    const BASE_URL = 'https://127.0.0.1:1'
    const { stdout } = await homeport.run(['doctor'], {
      ...paths,
      BASE_URL,
      BACKUP_SCHEDULE: '15 2 * * *',
    })
    expect(stdout).toMatch(/✗ certificate .*the key does not match the certificate\n/)
    expect(stdout).toMatch(/! backup +none yet: the first is due at \S+T02:15:00.000Z\n/)
    const unset = await homeport.run(['doctor'], { BASE_URL })
    expect(unset.stdout).toMatch(/! backup +none\n +Set BACKUP_SCHEDULE/)
  },
  20_000,
)

test('doctor checks free inodes if the file system reports them', () => {
  const assess = (inodes: number | null) => assessDisk({ bytes: 1e9, inodes }, 1_000)
  expect(assess(0)).toMatchObject({
    state: 'failed',
    detail: '1000 MB and 0 inodes free',
  })
  expect(assess(9_000).state).toBe('warning')
  expect(assess(90_000).state).toBe('ok')
  expect(assess(null).state).toBe('ok')
})

test('doctor reports a store that no request can be signed for', async () => {
  const environment = {
    FILES_URL: 's3://files?endpoint=http://127.0.0.1:1',
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
    S3_SESSION_TOKEN: 'x'.repeat(5_000),
  }
  const checks = localChecks(readConfig({}, environment), null)
  const finding = await checks.find(({ name }) => name === 'files')?.run()
  expect(finding).toMatchObject({ state: 'failed', advice: expect.any(String) })
})

function serveFeed(at: Date) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('ok', { headers: { date: at.toUTCString() } }),
  })
}
