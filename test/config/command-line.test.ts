import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { formatCommand, formatFirstCommand } from '../../src/config/command-line.ts'
import { userName } from '../../src/lib/text/user-name.ts'

const DEFAULT = { dataDir: resolve('data'), notifySocket: null }
/** The program as typed to run the tests. */
const PROGRAM = /^\S*bun\S* \S+/

test('a command names the data folder only if it is not the default', () => {
  expect(formatCommand(DEFAULT, 'doctor')).toMatch(new RegExp(`${PROGRAM.source} doctor$`))
  const elsewhere = { ...DEFAULT, dataDir: "/srv/it's here" }
  expect(formatCommand(elsewhere, 'doctor')).toStartWith(String.raw`DATA_DIR='/srv/it'\''s here' `)
})

test('a command that uses a service’s data runs as its user', () => {
  const service = { dataDir: '/var/lib/homeport/data', notifySocket: '/run/systemd/notify' }
  const user = userName(process.getuid?.() ?? 0)
  const start = `sudo -u ${user} DATA_DIR=/var/lib/homeport/data `
  expect(formatCommand(service, 'doctor')).toStartWith(start)
})

test('browsers on other machines do not get server paths', () => {
  const place = { dataDir: '/home/dana/data', notifySocket: null }
  expect(formatFirstCommand(place, true)).toContain('/home/dana/data')
  expect(formatFirstCommand(place, false)).toBe('homeport operators add your-name')
})
