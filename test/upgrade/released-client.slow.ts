import { expect, test } from 'bun:test'
import { join } from 'node:path'

/** The suites of the client that talk to a server. */
const SUITES = ['changes', 'client', 'edges', 'guest', 'session', 'updates']

test('the client of the last release passes its tests against today’s server', async () => {
  const files = SUITES.map((name) => `test/client/${name}.test.ts`)
  const preload = ['--preload', './test/upgrade/released-client.ts']
  const { exited, stderr } = Bun.spawn(
    [process.execPath, 'test', '--timeout=20000', ...preload, ...files],
    { cwd: join(import.meta.dir, '..', '..'), stdout: 'ignore', stderr: 'pipe' },
  )
  const failed = (await stderr.text()).match(/^\(fail\).*$/gm) ?? []
  expect([failed, await exited]).toEqual([[], 0])
}, 120_000)
