import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The floors of the house: a file imports from its own floor or a lower one. */
const FLOORS: [floor: string, files: RegExp][] = [
  ['lib', /^lib\//],
  ['config', /^(config|secrets|version)\.ts$/],
  ['db', /^db\//],
  ['protocol', /^(http|limits|outbox|encryption)\//],
  ['features', /^features\//],
  ['usecases', /^usecases\//],
  ['services', /^(services|app|features|seed)\.ts$/],
  ['cli', /^cli\//],
  ['main', /^main\.ts$/],
  ['client', /^client\//],
]

const SOURCE = join(import.meta.dir, '..', 'src')
const IMPORT = /(?:^|\n)(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g
const LINE_LIMIT = 300

const files = [...new Bun.Glob('**/*.ts').scanSync(SOURCE)]
  .filter((path) => !path.endsWith('.d.ts'))
  .toSorted()
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), 'utf8')
    return { path, text, imports: importsOf(path, text) }
  })

test('every file stands on a floor and imports from its own or a lower one', () => {
  const faults = files.flatMap(({ path, imports }) =>
    imports.own
      .filter((target) => floorOf(target) > floorOf(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(faults).toEqual([])
  expect(files.filter(({ path }) => floorOf(path) < 0).map(({ path }) => path)).toEqual([])
})

test('features do not know each other', () => {
  const featureOf = (path: string) => /^features\/([^/]+)/.exec(path)?.[1]
  const faults = files.flatMap(({ path, imports }) =>
    imports.own
      .filter((target) => featureOf(path) && featureOf(target))
      .filter((target) => featureOf(target) !== featureOf(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(faults).toEqual([])
})

test('no import leads back to where it came from', () => {
  const byPath = new Map(files.map((file) => [file.path, file.imports.own]))
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const target of byPath.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  expect(cycles).toEqual([])
})

test('the client takes nothing but types from the server, and jose alone from others', () => {
  const client = files.filter(({ path }) => path.startsWith('client/'))
  expect(client.length).toBeGreaterThan(5)
  const taken = client.flatMap(({ text }) => [
    ...text.matchAll(/^import (?!type)[^']*from '([^']+)'/gm),
  ])
  const foreign = taken.map(([, name = '']) => name).filter((name) => !name.startsWith('./'))
  expect([...new Set(foreign)]).toEqual(['jose'])
})

test('bodies are read where sealed ones are opened', () => {
  const readers = having(/request\.(body|bytes|text|json|formData|arrayBuffer|blob)\b/)
  expect(readers.filter((path) => !path.startsWith('client/'))).toEqual(['http/body.ts'])
})

test('only config.ts reads the environment', () => {
  expect(having(/process\.env|Bun\.env|import\.meta\.env/)).toEqual(['config.ts'])
})

test('no service knows Elysia, a status or the configuration', () => {
  const services = files.filter(({ path }) => /^features\/.*service\.ts$/.test(path))
  expect(services.length).toBeGreaterThan(5)
  for (const { path, imports } of services) {
    expect([path, imports.packages.filter((name) => name.includes('elysia'))]).toEqual([path, []])
    expect([path, imports.own.filter((name) => name === 'config.ts')]).toEqual([path, []])
  }
})

test('no routes.ts reaches into the database', () => {
  const faults = files.filter(
    ({ path, imports }) =>
      path.endsWith('routes.ts') && imports.own.some((target) => target.startsWith('db/')),
  )
  expect(faults.map(({ path }) => path)).toEqual([])
})

test('queries are awaited with execute(); get, all and run stay inside of db/', () => {
  const calls = having(/\.(?:get|all|run)\(\)/).filter((path) => !path.startsWith('db/'))
  expect(calls).toEqual([])
})

test('no file has more than 300 lines, no default export, no enum', () => {
  const tests = [...new Bun.Glob('**/*.ts').scanSync(import.meta.dir)].map((path) => ({
    path: `test/${path}`,
    text: readFileSync(join(import.meta.dir, path), 'utf8'),
  }))
  const long = [...files, ...tests].filter(({ text }) => text.split('\n').length > LINE_LIMIT)
  expect(long.map(({ path }) => path)).toEqual([])
  expect(having(/^export default/m)).toEqual([])
  expect(having(/^\s*(export )?(const )?enum /m)).toEqual([])
})

function having(pattern: RegExp): string[] {
  return files.filter(({ text }) => pattern.test(text)).map(({ path }) => path)
}

function floorOf(path: string): number {
  return FLOORS.findIndex(([, pattern]) => pattern.test(path))
}

function importsOf(path: string, text: string) {
  const own: string[] = []
  const packages: string[] = []
  for (const [, fixed, dynamic] of text.matchAll(IMPORT)) {
    const name = fixed ?? dynamic ?? ''
    if (!name.startsWith('.')) packages.push(name)
    else if (name.endsWith('.ts')) own.push(normalize(join(dirname(path), name)))
  }
  return { own, packages }
}
