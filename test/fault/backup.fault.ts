import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'

beforeAll(buildExecutable, 300_000)

/** Slow, because the age format makes each passphrase attempt slow on purpose. */
test('a backup encrypted with a passphrase can be read only with that passphrase', async () => {
  await using homeport = await installExecutable()
  const { run } = homeport
  await run(['init'])
  const written = await run(['backup', '--json'], { BACKUP_KEY: 'correct horse' })
  const { path } = JSON.parse(written.stdout) as { path: string }
  const verify = (env: Record<string, string>) => run(['restore', '--verify', path], env)
  expect((await verify({ BACKUP_KEY: 'correct horse' })).exitCode).toBe(0)
  for (const env of [{}, { BACKUP_KEY: 'another key' }]) {
    const { exitCode, stderr } = await verify(env)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('BACKUP_KEY')])
  }
}, 60_000)

test(`each of a hundred changed bytes in an archive is detected ${fault(14)}`, async () => {
  await using homeport = await installExecutable()
  const { run, folder } = homeport
  await run(['init'])
  const { path } = JSON.parse((await run(['backup', '--json'])).stdout) as { path: string }
  const good = await Bun.file(path).bytes()
  const wrong = `${folder}/wrong.tar`
  for (let tries = 0; tries < 100; tries++) {
    const bytes = good.slice()
    const at = Math.floor(Math.random() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (tries % 8))
    await Bun.write(wrong, bytes)
    expect([at, (await run(['restore', '--verify', wrong])).exitCode]).toEqual([at, 1])
  }
}, 120_000)
