import { afterAll } from 'bun:test'
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryFolder } from './memory-folder.ts'

process.env['TMPDIR'] = memoryFolder()

// Elysia requests a garbage collection for each app. With the heap of all tests, that took a sixth of their time.
const collect = Bun.gc
Bun.gc = (force) => (force ? collect(true) : 0)

// While it waits for a promise, `expect(…).rejects` runs immediates only when a timer fires: a write took 230 ms.
setInterval(() => {}, 2).unref()

// In a fresh clone the console is not built yet when single test files are run.
const CONSOLE = join(import.meta.dir, '..', '..', 'dist', 'console')
if (!existsSync(CONSOLE)) Bun.spawnSync([process.execPath, 'scripts/build-console.ts'])

/** Removes the copy that `executable.ts` links to. */
afterAll(() => rmSync(join(tmpdir(), `homeport-executable-${process.pid}`), { force: true }))
