import { beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { FOREIGN_HASHES } from '../support/foreign-hashes.ts'
import { signIn } from '../support/requests.ts'
import { until } from '../support/until.ts'

const USERS = 20_000
/** 100,000 users in a minute. */
const MAX_MS = (USERS * 60_000) / 100_000
const [, HASH = ''] = FOREIGN_HASHES[0] ?? []

type Homeport = Awaited<ReturnType<typeof installExecutable>>

beforeAll(buildExecutable, 300_000)

test('an import continues after its command or the server was killed', async () => {
  await using homeport = await installExecutable()
  const file = await writeUsers(homeport, 'a')
  const server = await homeport.start()
  await killInTheMiddle(homeport, file)
  const second = startImport(homeport, file)
  await waitForIds(file)
  await server.stop('SIGKILL')
  // Between two parts, the command continues without the server.
  if ((await second.exited) !== 0)
    expect(await new Response(second.stderr).text()).toContain('did not finish')
  const restarted = await homeport.start()
  const start = performance.now()
  const { imported, present, refused } = await importJson(homeport, file)
  expect(performance.now() - start).toBeLessThan(MAX_MS)
  expect([imported + present, refused]).toEqual([USERS, 0])
  expect(present).toBeGreaterThan(0)
  expect((await signIn(restarted, 'a7@example.com')).status).toBe(200)
  expect((await importJson(homeport, file)).present).toBe(USERS)
  await restarted.stop()
}, 60_000)

test('without a server, a killed import continues too', async () => {
  await using homeport = await installExecutable()
  const file = await writeUsers(homeport, 'b')
  expect((await homeport.run(['init'])).exitCode).toBe(0)
  await killInTheMiddle(homeport, file)
  const { imported, present } = await importJson(homeport, file)
  expect(imported + present).toBe(USERS)
  expect([imported > 0, present > 0]).toEqual([true, true])
  const ids = (await Bun.file(`${file}.ids.jsonl`).text()).trim().split('\n')
  expect([ids.length, new Set(ids).size]).toEqual([USERS, USERS])
  expect((await stat(`${file}.ids.jsonl`)).mode & 0o777).toBe(0o600)
  const broken = join(homeport.folder, 'broken.jsonl')
  await Bun.write(broken, '{"email":"x"}\n')
  const failed = await homeport.run(['user', 'import', broken])
  expect([failed.exitCode, failed.stdout]).toEqual([1, expect.stringContaining('Refused 1 user')])
  const missing = await homeport.run(['user', 'import', 'missing.jsonl'])
  expect([missing.exitCode, missing.stderr]).toEqual([2, 'missing.jsonl cannot be read.\n'])
}, 60_000)

async function writeUsers({ folder }: Homeport, prefix: string): Promise<string> {
  const file = join(folder, `${prefix}.jsonl`)
  const lines = Array.from({ length: USERS }, (_, at) =>
    JSON.stringify({
      id: `${prefix}${at}`,
      email: `${prefix}${at}@example.com`,
      passwordHash: HASH,
    }),
  )
  await Bun.write(file, lines.join('\n'))
  return file
}

function startImport({ folder, environment }: Homeport, file: string) {
  return Bun.spawn([join(folder, 'homeport'), 'user', 'import', file], {
    cwd: folder,
    env: environment,
    stdout: 'ignore',
    stderr: 'pipe',
  })
}

async function killInTheMiddle(homeport: Homeport, file: string) {
  const command = startImport(homeport, file)
  await waitForIds(file)
  command.kill('SIGKILL')
  await command.exited
}

/** Waits until an import has imported users, and removes its list of them. */
async function waitForIds(file: string) {
  await until(() => existsSync(`${file}.ids.jsonl`), 'no user was imported')
  await Bun.file(`${file}.ids.jsonl`).delete()
}

async function importJson({ run }: Homeport, file: string) {
  const { stdout, exitCode } = await run(['user', 'import', file, '--json'])
  expect(exitCode).toBe(0)
  return JSON.parse(stdout)
}
