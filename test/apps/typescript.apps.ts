import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeEmptyApp, report, run } from '../support/app-projects.ts'
import { installClient } from '../support/client-package.ts'
import { compileStrictApp } from '../support/strict-app.ts'

/** Compiles the declarations of the package with each version of TypeScript that apps use. */
const MINUTES = 60_000

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-types-'))
})
afterAll(() => rm(folder, { recursive: true }))

test.each(['5.8', '5.9', '6', '7'])(
  'TypeScript %s compiles an app with the strictest settings',
  async (version) => {
    const app = await makeEmptyApp(folder, `typescript-${version}`)
    run(app, 'npm', 'install', '--no-audit', '--no-fund', `typescript@${version}`)
    await installClient(app)
    const tsc = join(app, 'node_modules', '.bin', 'tsc')
    expect(await compileStrictApp(app, tsc)).toBe('')
    await report(app, 'TypeScript', 'typescript')
  },
  5 * MINUTES,
)
