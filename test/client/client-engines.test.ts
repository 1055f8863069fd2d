import { expect, test } from 'bun:test'
import { transformSync } from 'esbuild'
import { buildClient } from '../../scripts/build-client.ts'

/** The oldest engines that `docs/client.md` names. React Native's own preset translates syntax for Hermes. */
const ENGINES = ['chrome93', 'firefox115', 'safari15.4', 'ios15.4']
/** esbuild counts these as unsupported only because of the newest Unicode scripts. */
const SUPPORTED = { 'regexp-unicode-property-escapes': true }

/** Members and globals that one of these engines, or Hermes of React Native 0.74, lacks. */
const NEWER_MEMBERS = [
  ...['findLast', 'findLastIndex', 'toSorted', 'toReversed', 'toSpliced', 'fromAsync'],
  ...['withResolvers', 'groupBy', 'isWellFormed', 'toWellFormed', 'toArray'],
  ...['union', 'intersection', 'difference', 'symmetricDifference'],
  ...['isSubsetOf', 'isSupersetOf', 'isDisjointFrom'],
  ...['toBase64', 'fromBase64', 'toHex', 'fromHex', 'setFromBase64', 'setFromHex'],
  ...['canParse', 'throwIfAborted', 'getOrInsert', 'getOrInsertComputed'],
]
const NEWER = new RegExp(
  [
    `\\??\\.(?:${NEWER_MEMBERS.join('|')})\\(`,
    String.raw`\bAbortSignal\.(?:timeout|any)\b`,
    String.raw`\bPromise\.try\b`,
    String.raw`\bResponse\.json\b`,
    String.raw`\bSymbol\.(?:dispose|asyncDispose)\b`,
    String.raw`\b(?:structuredClone|reportError|Iterator|URLPattern)\b`,
  ].join('|'),
  'g',
)
/** Libraries that use newer members only where they exist, or have methods of the same names. */
const GUARDED: Record<string, string[]> = {
  'p256.js': ['.fromHex(', '.toHex('],
  'sealed-transport.js': ['.fromBase64(', '.toBase64('],
}

/** The features in a file that the engines lack. */
function findNewer(code: string): string[] {
  const print = (target: string | string[]) =>
    transformSync(code, { target, supported: SUPPORTED, legalComments: 'none' }).code
  const names = [...code.matchAll(NEWER)].map(([name]) => name.replace('?', ''))
  const hasNewSyntax = print(ENGINES) !== print('esnext')
  return [...new Set(hasNewSyntax ? ['syntax', ...names] : names)].toSorted()
}

test('the files that apps load run in the engines that the page names', async () => {
  const files = await buildClient()
  const loaded = [...files].filter(([path]) => /^[\w-]+\.js$/.test(path) && path !== 'testing.js')
  expect(loaded.length).toBeGreaterThan(8)
  for (const [path, bytes] of loaded) {
    const found = findNewer(new TextDecoder().decode(bytes))
    expect([path, found]).toEqual([path, GUARDED[path] ?? []])
  }
})

test.each([
  ['class A { static { a() } }', 'syntax'],
  ['const a = /(?<=b)c/', 'syntax'],
  ['const a = /b/v', 'syntax'],
  ['a.toSorted()', '.toSorted('],
  ['a?.findLast(b)', '.findLast('],
  ['Promise.withResolvers()', '.withResolvers('],
  ['const { signal = AbortSignal.timeout(1) } = a', 'AbortSignal.timeout'],
  ['structuredClone(a)', 'structuredClone'],
])('detects that %s is too new', (code, found) => {
  expect(findNewer(code)).toEqual([found])
})
