import { beforeAll, expect } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../support/executable.ts'
import { startSmtp } from '../support/smtp.ts'

beforeAll(buildExecutable, 60_000)

const HOUR = 60 * 60 * 1000

onSqlite('its list is of a data directory')(
  'doctor judges what the server was started with, and tells nobody a secret',
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
    await homeport.untilLogged('listening')
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
      backup: 'ok',
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

onSqlite('its list is of a data directory')(
  'doctor says what is wrong and what to do',
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
    const wrong = [
      'disk',
      'folders',
      'database',
      'secrets',
      'mail',
      'clock',
      'address',
      'certificate',
    ]
    for (const name of wrong) expect(stdout).toMatch(new RegExp(`✗ ${name} .*\\n {16}\\S`))
    expect(stdout).toContain('Did you mean BACKUP_KEEP?')
    expect(stdout).toMatch(/(3599|360[01]) s off/)
    expect(stdout).not.toContain('secret-password')
  },
  20_000,
)

function serveFeed(at: Date) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('ok', { headers: { date: at.toUTCString() } }),
  })
}
