import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as entry from '../../src/client/client.ts'
import { installClient } from '../support/client-package.ts'
import { startLanguageServer } from '../support/language-server.ts'

const TSC = join(import.meta.dir, '..', '..', 'node_modules', '.bin', 'tsc')
const DECLARED = /^export declare (?:function|const|class) (\w+)/gm

let app = ''
let folder = ''

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'homeport-editor-'))
  folder = await installClient(app)
})
afterAll(() => rm(app, { recursive: true, force: true }))

test.each(['mts', 'cts'])(
  'an editor shows the documentation of every function of the client (.%s)',
  async (extension) => {
    const members = Object.keys(entry.createClient({ baseUrl: 'http://127.0.0.1:9' }))
    expect(members.length).toBeGreaterThan(30)
    const opening = [
      `import { createClient } from 'homeport-client'`,
      `const api = createClient({ baseUrl: '' })`,
    ]
    const lines = [...opening, ...members.map((name) => `api.${name}`)]
    expect(await undocumented(`members.${extension}`, lines, members)).toEqual([])
  },
)

test('an editor shows the documentation of every exported function of every entry', async () => {
  const { exports } = await Bun.file(join(folder, 'package.json')).json()
  for (const [path, conditions] of Object.entries(exports)) {
    if (typeof conditions === 'string') continue
    const { types } = (conditions as { default: { types: string } }).default
    const declared = (await Bun.file(join(folder, types)).text()).matchAll(DECLARED)
    const reexported = path === '.' ? Object.keys(entry) : []
    const names = [...new Set([...[...declared].map(([, name = '']) => name), ...reexported])]
    const file = `entry${path.replaceAll('/', '-')}.mts`
    const lines = [`import * as api from '${join('homeport-client', path)}'`]
    expect(names.length).toBeGreaterThan(0)
    expect(
      await undocumented(file, [...lines, ...names.map((name) => `api.${name}`)], names),
    ).toEqual([])
  }
})

/** The names, each after `api.` on its own line, for which an editor shows no documentation. */
async function undocumented(file: string, lines: string[], names: string[]): Promise<string[]> {
  using server = await startLanguageServer(TSC, app)
  const path = join(app, file)
  server.open(path, lines.join('\n'))
  const texts = names.map((name) => server.hover(path, lines.indexOf(`api.${name}`), 'api.'.length))
  const documentation = (await Promise.all(texts)).map((text) => text.split('\n```\n')[1] ?? '')
  return names.filter((_name, at) => !/\w{3}/.test(documentation[at] ?? ''))
}
