import { join } from 'node:path'
import type { RateSet } from '../features/rates/model.ts'
import type { Peg } from '../features/rates/table.ts'
import { assetPath } from '../lib/files/asset-path.ts'
import type { Services } from './services.ts'

/** Fills an empty database with the initial content. Does nothing if it already has content. */
export async function seed({ db, settings, plans, content, rates }: Services) {
  if ((await db.read.$count(db.tables.contentVersions)) > 0) return
  const [firstSettings, firstPlans, faqs, { publishedAt, ...set }] = await Promise.all([
    readSeed('settings'),
    readSeed('plans'),
    readSeed('faqs'),
    readSeed('rates') as Promise<Omit<RateSet, 'publishedAt'> & { publishedAt: string }>,
  ])
  await db.write(async (tx) => {
    // Another instance may have filled the database in the meantime.
    if ((await tx.$count(db.tables.contentVersions)) > 0) return
    await settings.seed(tx, firstSettings)
    await plans.seed(tx, firstPlans)
    await content.seed(tx, faqs)
    await rates.seed(tx, { ...set, publishedAt: new Date(publishedAt) })
  })
}

/** The currencies whose rates are fixed by law. */
export async function readPegs(): Promise<Peg[]> {
  return (await readSeed('pegs')) as Peg[]
}

function readSeed(name: 'settings' | 'plans' | 'faqs' | 'rates' | 'pegs'): Promise<unknown> {
  return Bun.file(join(assetPath('seed'), `${name}.json`)).json()
}
