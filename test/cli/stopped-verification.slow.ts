import { beforeAll, expect, test } from 'bun:test'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { makeBackup } from '../support/archives.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

test('a verification that is stopped leaves nothing in the temporary folder', async () => {
  await using homeport = await installExecutable()
  const { folder } = homeport
  const bytes = await Bun.file(await makeBackup(homeport)).bytes()
  const TMPDIR = join(folder, 'temporary')
  await mkdir(TMPDIR)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const verification = Bun.spawn([join(folder, 'homeport'), 'restore', '-', '--verify'], {
      cwd: folder,
      env: { TMPDIR },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    verification.stdin.write(bytes.subarray(0, bytes.length / 2))
    await verification.stdin.flush()
    const hasDatabase = async () =>
      (await readdir(TMPDIR, { recursive: true })).some((name) => name.endsWith('homeport.db'))
    await until(hasDatabase, 'nothing is extracted')
    verification.kill(signal)
    await verification.exited
    expect([signal, await readdir(TMPDIR)]).toEqual([signal, []])
  }
}, 20_000)
