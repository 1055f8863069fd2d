import { beforeAll, expect, test } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { formatUnit } from '../../src/cli/service/unit.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

type Environment = Record<string, string>

beforeAll(buildExecutable, 300_000)

test("a backup is encrypted with the command's key, or else with the service's key", async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const [service, command] = [await makeKey(), await makeKey()]
  const server = await homeport.start({ BACKUP_KEY: service.recipient })
  const encryptionOf = async (environment: Environment = {}, ...options: string[]) => {
    const out = ['--out', 'backup.tar', '--yes']
    const { stdout, stderr } = await run(['backup', ...out, ...options], environment)
    expect(stderr).toBe('')
    return stdout.trim().split(', ').at(-1)
  }
  const forService = `encrypted for ${service.recipient}.`
  const forCommand = `encrypted for ${command.recipient}.`
  const verify = (key: string) => run(['restore', '--verify', 'backup.tar'], { BACKUP_KEY: key })
  for (const isRunning of [true, false]) {
    if (!isRunning) await server.stop()
    expect(await encryptionOf({ BACKUP_KEY: command.recipient })).toBe(forCommand)
    expect((await verify(command.identity)).exitCode).toBe(0)
    expect((await verify(service.identity)).exitCode).toBe(1)
    expect(await encryptionOf()).toBe(forService)
    expect((await verify(service.identity)).exitCode).toBe(0)
    // After a restore, the environment may still contain the secret key.
    expect(await encryptionOf({ BACKUP_KEY: command.identity })).toBe(forCommand)
    expect(await encryptionOf({}, '--unencrypted')).toBe('NOT encrypted.')
  }
  // From here on, the service has no key.
  await (await homeport.start()).stop()
  expect(await encryptionOf()).toBe('NOT encrypted.')
  const wrong = await run(['backup'], { BACKUP_KEY: `${command.recipient}x` })
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('not a valid age recipient'),
  ])
}, 120_000)

test('with the server stopped, a backup fails if the passphrase is unreadable', async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  const { recipient } = await makeKey()
  const file = join(folder, 'service.env')
  const environment = { SERVICE_ENVIRONMENT_FILE: file, BACKUP_KEY: 'correct horse' }
  await (await homeport.start(environment)).stop()
  const { exitCode, stderr } = await run(['backup'])
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/passphrase.*service\.env/)])
  // The service's settings are used if this user may read its environment file.
  await Bun.write(
    file,
    `# age\nBACKUP_KEY="${recipient}"\nBACKUP_DIR=kept # here\nDATA_DIR=/none\n`,
  )
  const outcome = JSON.parse((await run(['backup', '--json'])).stdout)
  expect(outcome).toMatchObject({ encryption: recipient })
  expect(outcome.path).toStartWith(join(folder, 'kept # here'))
  // A world-writable file is not trusted.
  await chmod(file, 0o666)
  expect((await run(['backup'])).exitCode).toBe(2)
}, 30_000)

test('the unit names its environment file', () => {
  const places = { user: 'u', home: '/home', executable: '/bin/homeport' }
  expect(formatUnit({ ...places, environment: '/etc/some.env' })).toContain(
    'Environment=SERVICE_ENVIRONMENT_FILE=/etc/some.env\n',
  )
})

async function makeKey() {
  const identity = await generateIdentity()
  return { identity, recipient: await identityToRecipient(identity) }
}
