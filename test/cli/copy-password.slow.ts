import { beforeAll, expect, test } from 'bun:test'
import { ON_DISK } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

beforeAll(buildExecutable, 300_000)

test.each([
  'mysql://root:s3cr3t@127.0.0.1/app',
  'postgres://root:s3cr3t@127.0.0.1:1/app?password=s3cr3t',
  // The slash in the password is not percent-encoded.
  'postgres://root:1/s3cr3t@127.0.0.1/app',
  's3cr3t',
])('prints no part of the password when %s cannot be used', async (url) => {
  await using homeport = await installExecutable()
  await homeport.run(['init'], ON_DISK)
  const environment = { ...ON_DISK, SECRET_KEY: 'the secret key of all tests here' }
  for (const args of [
    ['db', 'copy', '--to', url],
    ['db', 'copy', '--from', url],
    ['files', 'copy', '--to', url],
  ]) {
    const { exitCode, stdout, stderr } = await homeport.run(args, environment)
    const [, rest = stderr] = stderr.split(/^Every local user .*\n/)
    expect([exitCode === 0, (stdout + rest).match(/s3c|stack|\n.*\n/)]).toEqual([false, null])
  }
  const served = await homeport.run(['status'], { ...environment, DATABASE_URL: url })
  expect([served.exitCode === 0, served.stderr.match(/s3c/)]).toEqual([false, null])
})

test('a copy can read its URL from an environment variable, and warns about a password in its arguments', async () => {
  await using homeport = await installExecutable()
  await homeport.run(['init'], ON_DISK)
  const copy = (to: string, environment = {}) =>
    homeport.run(['db', 'copy', '--to', to], {
      ...ON_DISK,
      SECRET_KEY: 'the secret key of all tests here',
      ...environment,
    })
  const url = 'postgres://root:s3cr3t@127.0.0.1:1/app'
  const shown = await copy(url)
  expect(shown.stderr).toContain('Every local user can see a password on the command line')
  const hidden = await copy('env:TARGET_URL', { TARGET_URL: url })
  expect([hidden.exitCode, hidden.stderr]).toEqual([
    1,
    expect.stringContaining('cannot be reached'),
  ])
  expect(hidden.stderr).not.toMatch(/command line|s3cr3t/)
  const missing = await copy('env:TARGET_URL')
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining('TARGET_URL')])
})
