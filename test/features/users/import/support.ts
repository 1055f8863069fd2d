import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Options } from '../../../../src/lib/command.ts'
import type { TestApp } from '../../../support/app.ts'
import { runCommand } from '../../../support/commands.ts'

const FIXTURES = join(import.meta.dir, '../../../fixtures/import')
export const HASH_CONFIG = join(FIXTURES, 'firebase-hash-config.txt')

/** A folder for files to import, and for the files that an import writes beside them. */
export async function createImports(app: TestApp) {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-import-'))
  return { run, runFixture, write, path, readLines, [Symbol.asyncDispose]: dispose }

  /** Imports users in Homeport's own format. A string becomes a line unchanged. */
  async function run(users: (object | string)[], options: Options = {}) {
    return runCommand(app, 'user import', [await write(users)], options)
  }

  async function write(users: (object | string)[], name = 'users.jsonl'): Promise<string> {
    const lines = users.map((user) => (typeof user === 'string' ? user : JSON.stringify(user)))
    await Bun.write(path(name), `${lines.join('\n')}\n`)
    return path(name)
  }

  async function runFixture(name: string, options: Options = {}) {
    await copyFile(join(FIXTURES, name), path(name))
    return runCommand(app, 'user import', [path(name)], options)
  }

  function path(name: string): string {
    return join(folder, name)
  }

  /** The parsed lines of a JSON Lines file; null if it does not exist. */
  async function readLines(name: string) {
    const file = Bun.file(path(name))
    if (!(await file.exists())) return null
    const lines = (await file.text()).trim().split('\n')
    return lines.map((line) => JSON.parse(line))
  }

  async function dispose() {
    await rm(folder, { recursive: true, force: true })
  }
}

export function logIn(app: TestApp, email: string, password: string) {
  return app.ask('POST', '/api/auth/login/v1', { json: { email, password } })
}
