import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'
import { isFeatureLeftOut, ROUTES_LEFT_OUT } from '../support/left-out.ts'

export type Json = { [name: string]: unknown }
/** Apps send requests and read responses: a new required field breaks requests, a missing one breaks responses. */
type Side = 'request' | 'response'

const FILE = join(import.meta.dir, 'data', 'interface.json.zst')
const DOCUMENTS = ['/docs/json', '/docs/server/json']
const METHODS = /^(get|put|post|patch|delete)$/

/** Today's OpenAPI documents, with the references resolved. */
export async function readInterface(): Promise<Json> {
  await using app = await createTestApp()
  const documents: Json = {}
  for (const path of DOCUMENTS) {
    const { json } = await app.ask('GET', path)
    documents[path] = resolve(json.paths, json)
  }
  return documents
}

/** The documents of the last release. */
export async function readReleased(): Promise<Json> {
  return JSON.parse(Bun.zstdDecompressSync(await Bun.file(FILE).bytes()).toString())
}

/**
 * Lists where `now` lacks what `before` has, or requires more. The operations, other routes and export members of a
 * feature that was left out do not count.
 */
export function findRemovals(before: Json, now: Json): string[] {
  const [released, todays] = [listTags(before), listTags(now)]
  const leftOut = isFeatureLeftOut ? released.difference(todays) : new Set()
  const isLeftOut = (operation: Json) =>
    readList(operation, 'tags').every((tag) => leftOut.has(tag))
  const ofExport = /^GET \/api\/user\/export\/v1 200\.response\.\w+ is (missing|optional)$/
  const removals = findInPaths(before, now, isLeftOut)
  return leftOut.size === 0 ? removals : removals.filter((found) => !ofExport.test(found))
}

/** The tags of all operations. */
function listTags(documents: Json): Set<unknown> {
  const operations = Object.values(documents).flatMap((paths) =>
    Object.values(paths as Json).flatMap((methods) => Object.values(methods as Json)),
  )
  return new Set(operations.flatMap((one) => (isTree(one) ? readList(one, 'tags') : [])))
}

function findInPaths(before: Json, now: Json, isLeftOut: (operation: Json) => boolean): string[] {
  return Object.entries(before).flatMap(([document, paths]) =>
    Object.entries(paths as Json)
      .filter(([path]) => !ROUTES_LEFT_OUT.includes(path))
      .flatMap(([path, operations]) =>
        Object.entries(operations as Json)
          .filter(([method, one]) => METHODS.test(method) && !isLeftOut(one as Json))
          .flatMap(([method, operation]) => {
            const place = `${method.toUpperCase()} ${path}`
            const today = at(now, document, path, method)
            if (today === undefined) return [`${place} is missing`]
            return findInOperation(operation as Json, today, place)
          }),
      ),
  )
}

function findInOperation(before: Json, now: Json, place: string): string[] {
  const removals = findInParameters(before, now, place)
  for (const [type, { schema }] of contentsOf(before['requestBody'])) {
    // A type that generators misread is documented beside the body.
    const raw = at(now, 'x-raw-body', 'contentTypes') as string[] | undefined
    if (raw?.includes(type)) continue
    const today = at(now, 'requestBody', 'content', type, 'schema')
    removals.push(...findInSchema(schema, today, `${place} body`, 'request'))
  }
  for (const [status, reply] of Object.entries((before['responses'] ?? {}) as Json)) {
    if (at(now, 'responses', status) === undefined) removals.push(`${place} ${status} is missing`)
    for (const [type, { schema }] of contentsOf(reply)) {
      const today = at(now, 'responses', status, 'content', type, 'schema')
      removals.push(...findInSchema(schema, today, `${place} ${status}`, 'response'))
    }
  }
  return removals
}

function findInParameters(before: Json, now: Json, place: string): string[] {
  const [earlier, today] = [before, now].map(({ parameters }) => (parameters ?? []) as Json[])
  const find = (list: Json[] = [], one: Json) =>
    list.find((other) => other['name'] === one['name'] && other['in'] === one['in'])
  const missing = earlier?.filter((one) => !find(today, one)) ?? []
  const demanded =
    today?.filter((one) => one['required'] && !find(earlier, one)?.['required']) ?? []
  return [
    ...missing.map(({ name }) => `${place} no longer accepts ${name}`),
    ...demanded.map(({ name }) => `${place} requires ${name}`),
  ]
}

function findInSchema(before: unknown, now: unknown, place: string, side: Side): string[] {
  if (!isTree(before)) return []
  if (!isTree(now)) return [`${place} is missing`]
  const removals: string[] = []
  for (const [name, schema] of Object.entries((before['properties'] ?? {}) as Json)) {
    removals.push(...findInSchema(schema, at(now, 'properties', name), `${place}.${name}`, side))
  }
  removals.push(...findInSchema(before['items'], now['items'], `${place}[]`, side))
  const [few, many] = side === 'request' ? [now, before] : [before, now]
  for (const name of readList(few, 'required')) {
    if (!readList(many, 'required').includes(name)) {
      removals.push(`${place}.${name} is ${side === 'request' ? 'required' : 'optional'}`)
    }
  }
  for (const value of readList(before, 'enum')) {
    if (isTree(now) && now['enum'] && !readList(now, 'enum').includes(value))
      removals.push(`${place} is never ${JSON.stringify(value)}`)
  }
  if (before['type'] !== undefined && now['type'] !== undefined && before['type'] !== now['type']) {
    removals.push(`${place} is ${now['type']} instead of ${before['type']}`)
  }
  for (const kind of ['anyOf', 'oneOf', 'allOf']) {
    for (const [index, variant] of readList(before, kind).entries()) {
      const fits = readList(now, kind).map((one) => findInSchema(variant, one, place, side))
      if (!fits.some((found) => found.length === 0))
        removals.push(...(fits[index] ?? [`${place} lacks a variant`]))
    }
  }
  return removals
}

function contentsOf(part: unknown): [string, { schema?: unknown }][] {
  return Object.entries((isTree(part) ? (part['content'] ?? {}) : {}) as { [type: string]: Json })
}

/** Replaces references to components with the components. None of our schemas contains itself. */
function resolve(value: unknown, root: Json): unknown {
  if (Array.isArray(value)) return value.map((one) => resolve(one, root))
  if (!isTree(value)) return value
  const { $ref } = value
  if (typeof $ref === 'string') return resolve(at(root, ...$ref.slice(2).split('/')), root)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolve(one, root)]))
}

/** The value at a path; undefined if there is none. */
export function at(tree: unknown, ...path: string[]): Json | undefined {
  return path.reduce<unknown>((found, name) => (isTree(found) ? found[name] : undefined), tree) as
    | Json
    | undefined
}

function readList(tree: Json, name: string): unknown[] {
  return (tree[name] ?? []) as unknown[]
}

function isTree(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

// `bun test/upgrade/interface.ts` stores today's documents as those of the release.
if (import.meta.main) {
  await Bun.write(FILE, Bun.zstdCompressSync(JSON.stringify(await readInterface()), { level: 19 }))
}
