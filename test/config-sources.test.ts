import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/config/config.ts'
import { configErrorFor } from './support/config-error.ts'

test.each([
  [{ WEBHOOK_TOKEN: '"random words"' }, /^WEBHOOK_TOKEN has quotes/],
  [{ PORT: "'3000'" }, /^PORT has quotes/],
  [{ DATA_DIR: '"/var/lib/app"' }, /^DATA_DIR has quotes/],
  [{ AWS_ACCESS_KEY_ID: '"id"' }, /^AWS_ACCESS_KEY_ID has quotes/],
  [{ DATA_DIR: '~/data' }, /^DATA_DIR has "~"/],
  [{ BACKUP_DIR: `\${HOME}/backups` }, /^BACKUP_DIR has .*shell/],
  [{ TLS_KEY: '/home/$USER/key.pem', TLS_CERT: '/c.pem' }, /^TLS_KEY has .*shell/],
  [{ TLS_KEY_FILE: '/dev/null' }, /^TLS_KEY is the path of a file itself/],
  [{ BACKUP_KEY_FILE: '/nowhere' }, /^BACKUP_KEY_FILE cannot be read \(ENOENT\)/],
  [{ BACKUP_KEY_FILE: '/dev/null' }, /^BACKUP_KEY must be .*but is empty/],
  [
    { BACKUP_KEY_FILE: '/dev/null', BACKUP_KEY: 'correct horse' },
    /^BACKUP_KEY and BACKUP_KEY_FILE/,
  ],
  [{ HTTP_PORT: 'tcp://10.0.0.1:80' }, /^HTTP_PORT must be .*enableServiceLinks/],
  [
    { DATABASE_URL: 'postgres://h/n?sslmode=no-verify', SECRET_KEY: 'k'.repeat(32) },
    /^DATABASE_URL must be .*sslmode/,
  ],
])('refuses %j with the reason', (environment, message) => {
  const [first, ...others] = configErrorFor(environment).split('\n')
  expect(first).toMatch(message)
  expect(others.filter((line) => !line.includes('must be'))).toEqual([])
})

test('warns of quotes around a key with which data may be encrypted', () => {
  const { backupKey, warnings } = readConfig({}, { BACKUP_KEY: '"correct horse"' })
  expect(backupKey).toBe('"correct horse"')
  expect(warnings).toEqual([expect.stringMatching(/^BACKUP_KEY has quotes/)])
})

test('reads secrets from the files that variables name, unless a variable overrides them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-secrets-'))
  const file = join(folder, 'secret')
  await Bun.write(file, 'smtps://user:secret@mail.example.com\n')
  const { smtpUrl, misspelled } = readConfig({}, { SMTP_URL_FILE: file })
  expect([smtpUrl, misspelled]).toEqual(['smtps://user:secret@mail.example.com', []])
  const overridden = readConfig({}, { SMTP_URL: 'smtp://other' }, { SMTP_URL_FILE: file })
  expect(overridden.smtpUrl).toBe('smtp://other')
  await rm(folder, { recursive: true })
})

test('does not report the variables that Kubernetes sets for a Service as misspelled', () => {
  const links = { HOMEPORT_PORT: 'tcp://10.0.0.1:80', HOMEPORT_PORT_80_TCP: 'tcp://10.0.0.1:80' }
  expect(readConfig({}, { ...links, HOMEPORT_SERVICE_PORT: '80' }).misspelled).toEqual([])
})
