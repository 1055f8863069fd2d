import { createTestApp, type TestApp } from './app.ts'
import { type EventFixture, ms, receive } from './billing.ts'

/** An app whose figures count events immediately. */
export function createFiguresApp(environment: Record<string, string> = {}) {
  return createTestApp(environment, {
    countingDelayMs: 0,
    foldingSizes: { checkpointEvery: 3, sliceEvents: 3, maxReplayed: 32 },
  })
}

export async function count({ services }: TestApp) {
  await services.counting.run(AbortSignal.timeout(10_000))
}

/** Every stored sum other than 0, as text. */
export async function storedSums({ services: { db } }: TestApp): Promise<string[]> {
  const rows = await db.read.select().from(db.tables.businessSums)
  return rows
    .filter(({ sum }) => sum !== 0)
    .map((row) => [row.environment, row.series, row.period, row.item, row.sum].join(' '))
    .toSorted()
}

/** The figures on a day, once further events are counted. */
export async function figuresAfter(app: TestApp, events: EventFixture[], day: number, query = {}) {
  for (const event of events) await receive(app, event)
  await app.services.backlog.flush()
  await count(app)
  app.clock.now = new Date(ms(day))
  return await app.services.figures.read(query)
}
