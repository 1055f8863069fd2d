import { expect, test } from 'bun:test'
import { gte } from 'drizzle-orm'
import { findPage, type Source } from '../../../src/platform/lists/find-page.ts'
import { createSources } from '../../../src/platform/lists/sources.ts'
import { createTestApp } from '../../support/app.ts'

type Query = Parameters<typeof findPage<number>>[0]

test('pages through every match of a list, in order', async () => {
  const even = (row: number) => row % 2 === 0
  const pages = await readPages({ sources: [createNumbers(20, { keeps: even })], limit: 4 })
  expect(pages).toEqual([
    [0, 2, 4, 6],
    [8, 10, 12, 14],
    [16, 18],
  ])
  expect(await readPages({ sources: [createNumbers(8)], limit: 4 })).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ])
})

test('reads from the source with the fewest rows, and stays with it', async () => {
  const sources = [createNumbers(9, { name: 'long' }), createNumbers(5, { name: 'short' })]
  const { next } = await findPage({ sources, limit: 2 })
  expect(next).toBe('short~1')
  const first = createNumbers(4, { name: 'now-shorter' })
  expect((await findPage({ sources: [first, ...sources], limit: 2, after: 'short~1' })).next).toBe(
    'short~3',
  )
})

test('compares a bounded number of rows for a page, and reports how far it got', async () => {
  const last = (row: number) => row === 4_999
  const query = { sources: [createNumbers(5_000, { keeps: last })], limit: 5, maxScanned: 2_000 }
  const first = await findPage(query)
  expect(first).toEqual({ rows: [], next: '1999', scannedTo: 1_999, total: null })
  const second = await findPage({ ...query, after: '1999' })
  expect(second).toMatchObject({ rows: [], next: '3999', scannedTo: 3_999 })
  const third = await findPage({ ...query, after: '3999' })
  expect(third).toEqual({ rows: [4_999], next: null, scannedTo: null, total: null })
})

test('counts to 1,001 on the first page if requested, and scans only if allowed', async () => {
  const totalOf = async (source: Source<number>, query: Partial<Query> = {}) => {
    const settings = { limit: 5, maxScanned: 1_500, count: 'index', ...query } as const
    return (await findPage({ sources: [source], ...settings })).total
  }
  expect(await totalOf(createNumbers(900))).toBe(900)
  expect(await totalOf(createNumbers(4))).toBe(4)
  expect(await totalOf(createNumbers(5_000))).toBe(1_001)
  expect(await totalOf(createNumbers(900), { after: '7' })).toBeNull()
  expect(await totalOf(createNumbers(900), { count: undefined })).toBeNull()
  const some = createNumbers(900, { keeps: (row) => row < 80 })
  expect(await totalOf(some)).toBeNull()
  expect(await totalOf(some, { count: 'scan' })).toBe(80)
  const many = createNumbers(5_000, { keeps: (row) => row % 2 === 0 })
  expect(await totalOf(many, { count: 'scan' })).toBeNull()
})

test('ends early when the caller gives up', async () => {
  const sources = [createNumbers(50_000, { keeps: () => false })]
  const page = await findPage({ sources, limit: 5, signal: AbortSignal.abort() })
  expect(page).toMatchObject({ rows: [], next: '9' })
})

test('refuses a cursor from another list or filter', async () => {
  const sources = [createNumbers(9, { name: 'seen' })]
  for (const after of ['', 'x', 'seen', 'seen~', 'country~3', '3']) {
    await expect(findPage({ sources, limit: 2, after })).rejects.toThrow('This page does not exist')
  }
})

test('continues from the cursors of earlier versions', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { users } = db.tables
  const ids: string[] = []
  for (let at = 0; at < 4; at++) {
    ids.unshift((await app.register()).user._id)
    app.clock.advance(1_000)
  }
  const list = { read: db.read, table: users, key: users.id, isDescending: true }
  const where = gte(users.createdAt, new Date(0))
  const created = { where, isIndexed: true, sortedBy: users.createdAt }
  const idsAfter = async (after: string, name?: string) => {
    const sources = createSources(list, [{ ...created, ...(name && { name }) }])
    return (await findPage({ sources, limit: 9, after })).rows.map(({ id }) => id)
  }
  const ms = app.clock.now.getTime() - 2_000
  const rest = ids.slice(2)
  expect(await idsAfter(`${ms}-${ids[1]}`)).toEqual(rest)
  expect(await idsAfter(`${ms}.${ids[1]}`)).toEqual(rest)
  expect(await idsAfter(`created~${ms}-${ids[1]}`, 'created')).toEqual(rest)
  expect(await idsAfter(`created ${ms} ${ids[1]}`, 'created')).toEqual(rest)
  await expect(idsAfter(ids[1] ?? '')).rejects.toThrow('This page does not exist')
})

async function readPages(query: Query): Promise<number[][]> {
  const pages: number[][] = []
  for (let after: string | undefined | null; after !== null; ) {
    const page = await findPage({ ...query, after })
    pages.push(page.rows)
    after = page.next
  }
  return pages
}

/** A source of the numbers below `length`, in order. */
function createNumbers(
  length: number,
  { name = null, keeps }: { name?: string | null; keeps?: (row: number) => boolean } = {},
): Source<number> {
  return {
    name,
    isComplete: keeps === undefined,
    countUpTo: async (max) => Math.min(length, max),
    async read(position, limit) {
      const start = position === null ? 0 : Number(position) + 1
      const rows = Array.from({ length: Math.min(limit, length - start) }, (_, at) => start + at)
      const places = rows.map((row) => ({ row, position: `${row}` }))
      const matches = places.filter(({ row }) => keeps?.(row) ?? true)
      return { matches, last: places.at(-1), isAtEnd: rows.length < limit }
    },
  }
}
