import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..')
const MAX_BYTES = 256 * 1024
const LARGE_FILES = ['bun.lock']
/** Only these folders may contain files that are not text. */
const BINARY_FOLDERS = [
  'docs/pictures/',
  'test/fixtures/import/',
  'test/fixtures/pictures/',
  'test/upgrade/data/',
]
const TOP_LEVEL = `
  .ci .dockerignore .editorconfig .env.example .github .gitignore
  CHANGELOG.md CONTRIBUTING.md Dockerfile LICENSE README.md SECURITY.md
  biome.json bun.lock bunfig.toml data docs drizzle package.json scripts src test tsconfig.json
`
  .trim()
  .split(/\s+/)

const tracked = Bun.spawnSync(['git', 'ls-files', '-z'], { cwd: ROOT })
  .stdout.toString()
  .split('\0')
  // Files that the next commit removes are still listed.
  .filter((path) => path !== '' && statSync(join(ROOT, path), { throwIfNoEntry: false }))

// A source archive has no git.
test.skipIf(tracked.length === 0)('no tracked file is larger than 256 kB', () => {
  const large = tracked.filter((path) => statSync(join(ROOT, path)).size > MAX_BYTES)
  expect(large).toEqual(LARGE_FILES.filter((path) => large.includes(path)))
})

test('binary files are only in the folders for them', () => {
  const isBinary = (path: string) => readFileSync(join(ROOT, path)).subarray(0, 8_000).includes(0)
  const others = tracked.filter((path) => !BINARY_FOLDERS.some((folder) => path.startsWith(folder)))
  expect(others.filter(isBinary)).toEqual([])
})

test('every top-level name is known', () => {
  const names = new Set(tracked.map((path) => path.split('/')[0] ?? ''))
  expect([...names].filter((name) => !TOP_LEVEL.includes(name))).toEqual([])
})

test('only the newest schema snapshot of each engine is kept', () => {
  for (const engine of ['sqlite', 'postgres']) {
    const meta = join(ROOT, 'drizzle', engine, 'meta')
    const { entries } = JSON.parse(readFileSync(join(meta, '_journal.json'), 'utf8'))
    const newest = String(entries.at(-1).idx).padStart(4, '0')
    expect(readdirSync(meta).toSorted()).toEqual([`${newest}_snapshot.json`, '_journal.json'])
  }
})
