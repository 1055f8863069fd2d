import { beforeAll, expect, test } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { unitOf } from '../../src/cli/service/unit.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

type Environment = Record<string, string>

beforeAll(buildExecutable, 60_000)

test('a backup is encrypted with the key of its command, else with that of the service', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  const [service, own] = [await makeKey(), await makeKey()]
  const server = await homeport.start({ BACKUP_KEY: service.recipient })
  const secrecy = async (environment: Environment = {}, ...options: string[]) => {
    const out = ['--out', 'backup.tar', '--yes']
    const { stdout, stderr } = await run(['backup', ...out, ...options], environment)
    expect(stderr).toBe('')
    return stdout.trim().split(', ').at(-1)
  }
  const forService = `encrypted for ${service.recipient}.`
  const forOwn = `encrypted for ${own.recipient}.`
  const verify = (key: string) => run(['restore', '--verify', 'backup.tar'], { BACKUP_KEY: key })
  for (const isRunning of [true, false]) {
    if (!isRunning) await server.stop()
    expect(await secrecy({ BACKUP_KEY: own.recipient })).toBe(forOwn)
    expect((await verify(own.identity)).exitCode).toBe(0)
    expect((await verify(service.identity)).exitCode).toBe(1)
    expect(await secrecy()).toBe(forService)
    expect((await verify(service.identity)).exitCode).toBe(0)
    // The secret key is left in the environment of a restore.
    expect(await secrecy({ BACKUP_KEY: own.identity })).toBe(forOwn)
    expect(await secrecy({}, '--unencrypted')).toBe('NOT encrypted.')
  }
  // Without a key from then on.
  await (await homeport.start()).stop()
  expect(await secrecy()).toBe('NOT encrypted.')
  const wrong = await run(['backup'], { BACKUP_KEY: `${own.recipient}x` })
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('not a valid age recipient'),
  ])
}, 30_000)

test('with the server stopped, a backup asks for a passphrase it cannot read', async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  const { recipient } = await makeKey()
  const file = join(folder, 'service.env')
  const environment = { SERVICE_ENVIRONMENT_FILE: file, BACKUP_KEY: 'correct horse' }
  await (await homeport.start(environment)).stop()
  const { exitCode, stderr } = await run(['backup'])
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/passphrase.*service\.env/)])
  // What the service is configured with is known where this user may read it.
  await Bun.write(
    file,
    `# age\nBACKUP_KEY="${recipient}"\nBACKUP_DIR=kept # here\nDATA_DIR=/none\n`,
  )
  const outcome = JSON.parse((await run(['backup', '--json'])).stdout)
  expect(outcome).toMatchObject({ encryption: recipient })
  expect(outcome.path).toStartWith(join(folder, 'kept # here'))
  // Others could have put anything into it.
  await chmod(file, 0o666)
  expect((await run(['backup'])).exitCode).toBe(2)
}, 30_000)

test('the unit says where its variables are from', () => {
  const places = { user: 'u', home: '/home', executable: '/bin/homeport' }
  expect(unitOf({ ...places, environment: '/etc/some.env' })).toContain(
    'Environment=SERVICE_ENVIRONMENT_FILE=/etc/some.env\n',
  )
})

async function makeKey() {
  const identity = await generateIdentity()
  return { identity, recipient: await identityToRecipient(identity) }
}
