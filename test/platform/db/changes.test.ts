import { expect, test } from 'bun:test'
import type { Tx } from '../../../src/platform/db/db.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'

test('a finished transaction refuses every use', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { contentVersions } = db.tables
  const insert = db.prepareWrite((tx) => tx.insert(contentVersions).values(row('prepared')))
  const uses = await db.write(async (tx) => {
    const prepared = insert(tx)
    const built = tx.insert(contentVersions).values(row('built'))
    return {
      prepared: async () => prepared.execute(),
      built: async () => built,
      insert: async () => tx.insert(contentVersions).values(row('late')),
      update: async () => tx.update(contentVersions).set({ version: 99 }),
      delete: async () => tx.delete(contentVersions),
      select: async () => tx.select().from(contentVersions),
      count: async () => tx.$count(contentVersions),
      attempt: async () => tx.attempt(async () => {}),
      beforeCommit: async () => tx.beforeCommit('late', async () => {}),
      afterCommit: async () => tx.afterCommit(() => {}),
    }
  })
  for (const [name, use] of Object.entries(uses)) {
    expect(await use().catch(({ message }) => [name, message])).toEqual([name, OVER_MESSAGE])
  }
  expect(await names(app)).not.toContain('late')
})

test('a finished transaction refuses statements even while another transaction is open', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const ended = await db.write(async (tx) => ({ tx }))
  const { promise, resolve } = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const late = db.write(async (tx) => {
    await tx.insert(db.tables.contentVersions).values(row('own'))
    opened.resolve()
    await promise
  })
  const use = async (tx: Tx) => tx.insert(db.tables.contentVersions).values(row('late'))
  await opened.promise
  expect(await use(ended.tx).catch(({ message }) => message)).toBe(OVER_MESSAGE)
  resolve()
  await late
  expect(await names(app)).toContain('own')
  expect(await names(app)).not.toContain('late')
})

test('an unawaited statement runs in its own transaction or not at all', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { promise: committed, resolve: end } = Promise.withResolvers<void>()
  let late: Promise<unknown> = Promise.resolve()
  await db.write(async (tx) => {
    late = committed.then(() => tx.insert(db.tables.contentVersions).values(row('late')))
    void tx.insert(db.tables.contentVersions).values(row('immediate')).execute()
  })
  end()
  expect(await late.catch(({ message }) => message)).toBe(OVER_MESSAGE)
  expect((await names(app)).filter((name) => ['late', 'immediate'].includes(name))).toEqual([
    'immediate',
  ])
})

test('skips the afterCommit callbacks of a rolled-back attempt and runs all others', async () => {
  await using app = await createTestApp()
  const happened: string[] = []
  await app.services.db.write(async (tx) => {
    tx.afterCommit(() => happened.push('before'))
    await tx.attempt(async () => {
      tx.afterCommit(() => happened.push('undone'))
      throw new Error('the attempt fails')
    })
    await tx.attempt(async () => tx.afterCommit(() => happened.push('kept')))
    expect(happened).toEqual([])
  })
  expect(happened).toEqual(['before', 'kept'])
})

test('final work runs once per key, in the transaction, after everything else', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const { contentVersions } = db.tables
  const seen: string[][] = []
  const look = async (tx: Tx) => {
    const rows = await tx.select().from(contentVersions)
    seen.push(rows.map(({ name }) => name).filter((name) => name.length === 1))
    tx.beforeCommit('again', async (inner) => {
      await inner.insert(contentVersions).values(row('derived'))
    })
  }
  const change = async (tx: Tx) => {
    for (const name of ['a', 'b']) {
      await tx.insert(contentVersions).values(row(name))
      tx.beforeCommit('look', look)
    }
  }
  await db.write(change)
  expect(seen).toEqual([['a', 'b']])
  expect(await names(app)).toContain('derived')
  const fails = async (tx: Tx) => {
    await tx.insert(contentVersions).values(row('c'))
    tx.beforeCommit('fail', () => Promise.reject(new Error('the final work fails')))
  }
  expect(await db.write(fails).catch(({ message }) => message)).toBe('the final work fails')
  expect(await names(app)).not.toContain('c')
})

const OVER_MESSAGE = 'this transaction is over: await its statements inside write()'

function row(name: string) {
  return { name, version: 1 }
}

async function names({ services: { db } }: TestApp): Promise<string[]> {
  const rows = await db.read.select().from(db.tables.contentVersions)
  return rows.map(({ name }) => name).toSorted()
}
