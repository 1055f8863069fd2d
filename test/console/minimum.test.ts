import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { buildConsole, MINIMUM, MINIMUM_TEXT } from '../../scripts/build-console.ts'
import { ROOT } from '../../scripts/root.ts'

/** The first versions of Chrome, Firefox and Safari. */
type Versions = [chrome: number, firefox: number, safari: number]

const ANY: Versions = [0, 0, 0]
/** Features that TypeScript's and esbuild's data lack, from https://developer.mozilla.org. */
const FEATURES: [name: string, RegExp, Versions][] = [
  [':has()', /:has\(/, [105, 121, 15.4]],
  ['color-mix()', /color-mix\(/, [111, 113, 16.2]],
  ['light-dark()', /light-dark\(/, [123, 120, 17.5]],
  ['dvh', /\ddvh/, [108, 101, 15.4]],
  ['alternative text of content', /content:[^;}]*\/ ?""/, [77, 128, 17.4]],
  ['@starting-style', /@starting-style/, [117, 129, 17.5]],
  ['anchor()', /anchor\(/, [125, 147, 26]],
  ['dialog', /\.showModal\(/, [37, 98, 15.4]],
  ['Web Locks', /navigator\.locks/, [69, 96, 15.4]],
  ['AbortSignal.timeout', /AbortSignal\.timeout/, [103, 100, 16]],
  ['AbortSignal.any', /AbortSignal\.any/, [116, 124, 17.4]],
  ['TextDecoderStream', /TextDecoderStream/, [71, 105, 14.1]],
  ['crypto.randomUUID', /\.randomUUID\(/, [92, 95, 15.4]],
  ['structuredClone', /structuredClone\(/, [98, 94, 15.4]],
  ['Intl.supportedValuesOf', /supportedValuesOf\(/, [99, 93, 15.4]],
  ['URL.parse', /\bURL\.parse\(/, [126, 126, 18]],
  ['popover', /\bpopover\b|showPopover/, [114, 125, 17]],
  ['startViewTransition', /startViewTransition/, [111, 144, 18]],
  ['requestIdleCallback', /requestIdleCallback/, [47, 55, Infinity]],
  [
    'iterator helpers',
    /(?<!Object|Array)\.(keys|values|entries|matchAll)\([^()]*\)\.(map|filter|some|every|find|reduce|toArray|take|drop|flatMap|forEach)\(/,
    [122, 131, 18.4],
  ],
]
/** Built-in methods that are newer than ES2022. */
const METHODS: Record<string, Versions> = {
  findLast: [97, 104, 15.4],
  findLastIndex: [97, 104, 15.4],
  toReversed: [110, 115, 16],
  toSorted: [110, 115, 16],
  toSpliced: [110, 115, 16],
  with: [110, 115, 16],
  groupBy: [117, 119, 17.4],
  // Our own methods, or methods that libraries check for first.
  escape: ANY,
  minutes: ANY,
  dispose: ANY,
  use: ANY,
  move: ANY,
}
/** Properties without which a page only looks or scrolls a little differently. */
const COSMETIC = ['accent-color', 'overscroll-behavior', 'print-color-adjust', 'user-select']

const PREFIXED = /-webkit-(user-select:none|print-color-adjust:exact);/g

const NEWEST = Object.values(MINIMUM) as Versions
const AMBIGUOUS = /float16|typedarrays|sharedmemory/
let files: { name: string; text: string }[] = []

beforeAll(async () => {
  const built = await buildConsole()
  files = built.map(({ name, content }) => ({ name, text: new TextDecoder().decode(content) }))
}, 60_000)

describe('the built console', () => {
  test('uses no syntax that is newer than the oldest browsers', () => {
    const [chrome, firefox, safari] = NEWEST
    const target = [`chrome${chrome}`, `firefox${firefox}`, `safari${safari}`]
    for (const { name, text } of files) {
      const loader = /\.(js|css)$/.exec(name)?.[1] as 'js' | 'css' | undefined
      if (!loader) continue
      const newest = transformSync(text, { loader, target: 'esnext', minify: true }).code
      const { code } = transformSync(text, { loader, target, minify: true })
      expect([name, code.replaceAll(PREFIXED, '') === newest]).toEqual([name, true])
    }
  })

  test('uses no method that is newer', async () => {
    const [newer, older] = await Promise.all([
      namesIn(/\/lib\.(es2023|es2024|es2025|esnext)\.\w+\.d\.ts$/),
      namesIn(/\/lib\.(es5|dom|es20(1\d|2[0-2])(\.\w+)?)\.d\.ts$/),
    ])
    expect([newer.has('toSorted'), newer.has('difference'), older.has('map')]).not.toContain(false)
    const used = new Set(joinFiles('js').match(/(?<=\.)\w+/g))
    const found = [...used].filter((name) => newer.has(name) && !older.has(name))
    expect(found.filter((name) => !(name in METHODS))).toEqual([])
    expect(found.filter((name) => isTooNew(METHODS[name] ?? ANY))).toEqual([])
  })

  test('uses no other feature and no property of CSS that is newer', async () => {
    const all = files.map(({ text }) => text).join('\n')
    const found = FEATURES.filter(([, pattern]) => pattern.test(all))
    expect(found.filter(([, , versions]) => isTooNew(versions)).map(([name]) => name)).toEqual([])
    const since = await readProperties()
    const rules = joinFiles('css').match(/(?<=\{)[^{}]*(?=\})/g) ?? []
    const properties = new Set(rules.join(';').match(/(?<=^|;)[a-z][a-z-]+(?=:)/g))
    expect(properties.size).toBeGreaterThan(50)
    const unknown = [...properties].filter((name) => !since.has(name))
    expect(unknown).toEqual([])
    const tooNew = [...properties].filter((name) => isTooNew(since.get(name) ?? ANY))
    expect(tooNew.filter((name) => !COSMETIC.includes(name))).toEqual([])
  })

  test('names the same minimum browsers as the documentation', async () => {
    const page = files.find(({ name }) => name === 'index.html')?.text
    expect(page).toContain(`The console needs ${MINIMUM_TEXT}.`)
    expect(await Bun.file(join(ROOT, 'docs/console.md')).text()).toContain(
      `The console needs ${MINIMUM_TEXT}.`,
    )
  })
})

function joinFiles(extension: string): string {
  return files.flatMap(({ name, text }) => (name.endsWith(extension) ? [text] : [])).join('\n')
}

function isTooNew(versions: Versions): boolean {
  return versions.some((version, at) => version > (NEWEST[at] ?? 0))
}

/** The members that TypeScript's libraries declare. */
async function namesIn(files: RegExp): Promise<Set<string>> {
  const names = new Set<string>()
  const paths = new Bun.Glob('node_modules/@typescript/*/lib/lib.*.d.ts').scan({
    cwd: ROOT,
    absolute: true,
  })
  for await (const path of paths) {
    if (!files.test(path) || AMBIGUOUS.test(path)) continue
    const text = await Bun.file(path).text()
    for (const [, name = ''] of text.matchAll(/^ +(?:readonly )?(\w+)\??(?:<[^(]*>)?[(:]/gm))
      names.add(name)
  }
  return names
}

/** The first versions with each CSS property, from the tables in the comments of csstype. */
async function readProperties(): Promise<Map<string, Versions>> {
  const types = await Bun.file(join(ROOT, 'node_modules/csstype/index.d.ts')).text()
  const since = new Map<string, Versions>()
  for (const [, comment = '', name = ''] of types.matchAll(
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*"?([\w-]+)"?\??:/g,
  )) {
    const [browsers, , versions] = [...comment.matchAll(/^ *\* \|(.*)\|$/gm)].map(([, row = '']) =>
      row.split('|').map((cell) => cell.replaceAll(/[*<\s]/g, '')),
    )
    const find = (browser: string) => {
      const version = versions?.[browsers?.indexOf(browser) ?? -1] ?? ''
      return /^(No|n\/a)$/.test(version) ? Infinity : Number.parseFloat(version) || 0
    }
    if (versions && !since.has(name))
      since.set(name, [find('Chrome'), find('Firefox'), find('Safari')])
  }
  return since
}
