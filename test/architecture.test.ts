import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { listDescribed } from '../scripts/architecture-map.ts'

/** The layers: a file imports from its own layer or a lower one. */
const LAYERS: [layer: string, files: RegExp][] = [
  ['lib', /^lib\//],
  ['config', /^(config\/|version\.ts$)/],
  ['db', /^platform\/db\//],
  ['platform', /^platform\//],
  ['features', /^features\//],
  ['operations', /^operations\//],
  ['server', /^server\//],
  ['cli', /^cli\//],
  ['main', /^main\.ts$/],
  ['client', /^client\//],
  ['console', /^console\//],
]

const SOURCE = join(import.meta.dir, '..', 'src')
const IMPORT = /(?:^|\n)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g
const LINE_LIMIT = 300

const described = listDescribed(readFileSync(join(SOURCE, '..', 'docs', 'architecture.md'), 'utf8'))

const files = ['**/*.ts', '**/*.tsx']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(SOURCE)])
  .filter((path) => !path.endsWith('.d.ts'))
  .toSorted()
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), 'utf8')
    return { path, text, imports: importsOf(path, text) }
  })

test('every file belongs to a layer and imports only from its own or a lower one', () => {
  const violations = files.flatMap(({ path, imports }) =>
    imports.local
      .filter((target) => layerOf(target) > layerOf(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(violations).toEqual([])
  expect(files.filter(({ path }) => layerOf(path) < 0).map(({ path }) => path)).toEqual([])
})

test('features do not import each other, except that the stores import billing', () => {
  const featureOf = (path: string) => /^features\/([^/]+)\//.exec(path)?.[1]
  const isAllowed = (path: string, target: string) =>
    featureOf(path) === 'stores' && featureOf(target) === 'billing'
  const violations = files.flatMap(({ path, imports }) =>
    imports.local
      .filter((target) => featureOf(path) && featureOf(target))
      .filter((target) => featureOf(target) !== featureOf(path))
      .filter((target) => !isAllowed(path, target))
      .map((target) => `${path} imports ${target}`),
  )
  expect(violations).toEqual([])
})

test('there are no circular imports', () => {
  const byPath = new Map(files.map((file) => [file.path, file.imports.local]))
  const visited = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (visited.has(path) || trail.includes(path)) return
    for (const target of byPath.get(path) ?? []) visit(target, [...trail, path])
    visited.add(path)
  }
  for (const { path } of files) visit(path, [])
  expect(cycles).toEqual([])
})

test('the client imports almost only types from the server, and few packages', () => {
  const client = files.filter(({ path }) => path.startsWith('client/'))
  expect(client.length).toBeGreaterThan(5)
  const foreign = client.flatMap(({ path, text }) => {
    // The fake server shares the rules of lib/ with the real one.
    const libPattern = path.startsWith('client/testing/') ? '' : 'lib|'
    const pattern = `^(?!\\.)|\\.\\./(${libPattern}config|platform|features|operations|server)/`
    return valuesFrom(text, new RegExp(pattern)).map((name) => `${dirname(path)}: ${name}`)
  })
  const allowed = [
    'client/react: react',
    'client: ../lib/text/json.ts',
    'client: ../lib/text/merge-patch.ts',
    'client: @noble/curves/nist.js',
    'client: @noble/hashes/sha2.js',
    'client: @simplewebauthn/browser',
    'client: jose',
  ]
  expect(foreign.filter((name) => !allowed.includes(name))).toEqual([])
})

test('the console imports only types from the server, and values only from lib/', () => {
  const consoleFiles = files.filter(({ path }) => path.startsWith('console/'))
  expect(consoleFiles.length).toBeGreaterThan(20)
  const violations = consoleFiles.flatMap(({ path, text }) =>
    valuesFrom(text, /^(\.\.\/)+(?!lib\/)\w+\//)
      .filter((name) => !normalize(join(dirname(path), name)).startsWith('console/'))
      .map((name) => `${path}: ${name}`),
  )
  expect(violations).toEqual([])
  const importers = files.filter(
    ({ path, imports }) =>
      !path.startsWith('console/') && imports.local.some((target) => target.startsWith('console/')),
  )
  expect(importers.map(({ path }) => path)).toEqual([])
})

test('only body.ts reads request bodies', () => {
  const readers = filesWith(/request\.(body|bytes|text|json|formData|arrayBuffer|blob)\b/)
  expect(readers.filter((path) => !/^(client|console)\//.test(path))).toEqual([
    'platform/http/body/body.ts',
  ])
})

test('only config.ts reads the environment', () => {
  expect(filesWith(/process\.env|Bun\.env|import\.meta\.env/)).toEqual(['config/config.ts'])
})

/** The files of a feature that use HTTP: routes, models, pages, and those that handle bodies. */
const USES_HTTP =
  /(^|\/)(routes|model|client-models)\.ts$|\/(routes|console)\/|upload\/receive-uploads\.ts$|storage\/serve\.ts$|(^|\/)(console|actions|lists|feature)\.ts$|\/actions\/|settings\/(audience|rules\/conditions)\.ts$/

test('only routes and models of a feature use Elysia, HTTP or the configuration', () => {
  const nonHttp = files.filter(({ path }) => path.startsWith('features/') && !USES_HTTP.test(path))
  expect(nonHttp.length).toBeGreaterThan(50)
  const violations = nonHttp.flatMap(({ path, text, imports }) => [
    ...imports.packages.filter((name) => name.includes('elysia')).map((name) => `${path}: ${name}`),
    ...imports.local
      .filter((target) => target === 'config/config.ts')
      .map(() => `${path}: config.ts`),
    ...valuesFrom(text, /\/http\//).map((name) => `${path}: ${name}`),
  ])
  expect(violations).toEqual([])
})

test('no routes.ts accesses the database', () => {
  const violations = files.filter(
    ({ path, imports }) =>
      /(^|\/)routes(\.ts|\/)/.test(path) &&
      imports.local.some((target) => target.startsWith('platform/db/')),
  )
  expect(violations.map(({ path }) => path)).toEqual([])
})

test('http/ contains no feature paths', () => {
  const violations = files.filter(
    ({ path, text }) =>
      path.startsWith('platform/http/') && /\/api\/(?!server')\w|\/auth\/|features\//.test(text),
  )
  expect(violations.map(({ path }) => path)).toEqual([])
})

test('only db/ contains engine-specific code', () => {
  const engineSpecific =
    /bun:sqlite|drizzle-orm\/(?!sql)|\bPRAGMA\b|\bVACUUM\b|excluded\.|(?<!Math\.)\bmax\(0,|SQLITE_|sql<|sql`\$\{sql\./
  const violations = filesWith(engineSpecific).filter((path) => !path.startsWith('platform/db/'))
  // Only the code that opens the database chooses an engine.
  expect(violations).toEqual([])
  const importers = files.flatMap(({ path, imports }) =>
    imports.local
      .filter((target) => /^platform\/db\/(sqlite|postgres)\//.test(target))
      .filter(() => !/^(platform\/db|cli)\//.test(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(importers).toEqual([])
})

test('tables are defined only in schema.ts files, and every feature is listed', () => {
  const violations = filesWith(/\btable\(\s*'/).filter((path) => !path.endsWith('schema.ts'))
  expect(violations).toEqual([])
  const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? ''
  const features = files.filter(
    ({ path }) => path.endsWith('/feature.ts') && path !== 'platform/feature.ts',
  )
  expect(features.length).toBeGreaterThan(7)
  for (const { text } of features) {
    const name = /export const (\w+Feature) = /.exec(text)?.[1] ?? ''
    expect(textOf('server/features.ts')).toContain(`\n  ${name},`)
    expect(textOf('server/features.ts')).toContain(` ${name}.create(`)
  }
})

test('the map describes every directory, with at most 12 files each', () => {
  const directories = new Map<string, number>()
  for (const { path } of files)
    directories.set(dirname(path), (directories.get(dirname(path)) ?? 0) + 1)
  // The map describes `server/`, the server API, once for all features.
  const undescribed = [...directories.keys()].filter(
    (path) => path !== '.' && !described.includes(path) && !/^features\/[\w-]+\/server$/.test(path),
  )
  expect(undescribed).toEqual([])
  // The client's modules are small and independent.
  const crowded = [...directories].filter(([name, count]) => count > 12 && name !== 'client')
  expect(crowded).toEqual([])
  const vague = files.filter(({ path }) =>
    /(^|\/)(utils?|helpers?|common|misc|index)(\/|\.ts)/.test(
      path.replace('server/features.ts', ''),
    ),
  )
  expect(vague.map(({ path }) => path)).toEqual([])
})

test('queries are awaited with execute(); only db/ uses get, all and run', () => {
  const calls = filesWith(/\.(?:get|all|run)\(\)/).filter(
    (path) => !path.startsWith('platform/db/'),
  )
  expect(calls).toEqual([])
})

/** Combinators of schemas and settings, and verbs. */
const NAMED_LIKE_NOUNS =
  /^(create\w+|(one|oneModel|list|reply|rules)Of|notSignedIn|(detect|must|s)\w*tandIn)$/

test('exported functions are named by verbs, not by …Of and …In', () => {
  const names = files
    .flatMap(({ text }) => [
      ...text.matchAll(/^export (?:async )?function ([a-z]\w+(?:Of|In))\b/gm),
    ])
    .map(([, name = '']) => name)
  expect(names.filter((name) => !NAMED_LIKE_NOUNS.test(name))).toEqual([])
})

/** A commit that needs more raises it, and says why. Style sheets do not count. */
const MAX_SOURCE_LINES = 91_650

test('no file has more than 300 lines', () => {
  const long = [...files, ...testFiles()].filter(({ text }) => text.split('\n').length > LINE_LIMIT)
  expect(long.map(({ path }) => path)).toEqual([])
})

function testFiles() {
  return [...new Bun.Glob('**/*.ts').scanSync(import.meta.dir)].map((path) => ({
    path: `test/${path}`,
    text: readFileSync(join(import.meta.dir, path), 'utf8'),
  }))
}

/** The modules from which a file imports values, not only types. */
function valuesFrom(text: string, where: RegExp): string[] {
  const imports = [...text.matchAll(/^import (?!type )\{([^}]*)\} from '([^']+)'/gm)]
  return imports
    .filter(([, names = '', from = '']) => {
      const values = names
        .split(',')
        .filter((name) => name.trim() !== '' && !/^\s*type /.test(name))
      return where.test(from) && values.length > 0
    })
    .map(([, , from = '']) => from)
}

function filesWith(pattern: RegExp): string[] {
  return files.filter(({ text }) => pattern.test(text)).map(({ path }) => path)
}

function layerOf(path: string): number {
  return LAYERS.findIndex(([, pattern]) => pattern.test(path))
}

function importsOf(path: string, text: string) {
  const local: string[] = []
  const packages: string[] = []
  for (const [, fixed, dynamic] of text.matchAll(IMPORT)) {
    const name = fixed ?? dynamic ?? ''
    if (!name.startsWith('.')) packages.push(name)
    else if (/\.tsx?$/.test(name)) local.push(normalize(join(dirname(path), name)))
  }
  return { local, packages }
}

test('src grows only on purpose', () => {
  const lines = files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
  expect(lines).toBeLessThanOrEqual(MAX_SOURCE_LINES)
})
