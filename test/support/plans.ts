import { eq } from 'drizzle-orm'
import type { PlanImport } from '../../src/features/plans/model.ts'
import type { TestApp } from './app.ts'

/** Replaces the catalogue with one plan per entry, each like the free plan except for the given fields. */
export async function publishPlans(
  { services: { plans } }: TestApp,
  wanted: Partial<PlanImport>[],
) {
  const [free] = (await plans.list()).filter(({ code }) => code === 'free')
  if (!free) throw new Error('the seed has no free plan')
  const { _id, ...fields } = free
  await plans.publish(wanted.map((plan) => ({ ...fields, ...plan })))
}

/** Stores the monthly plan with a duration that an earlier build accepted. */
export async function setStoredDuration(app: TestApp, duration: string) {
  const { db, plans } = app.services
  const [, monthlyPlan] = await plans.list()
  if (!monthlyPlan) throw new Error('the seed has no monthly plan')
  const { code, _id, ...fields } = { ...monthlyPlan, duration }
  await db.write((tx) =>
    tx.update(db.tables.plans).set({ fields }).where(eq(db.tables.plans.code, code)),
  )
  await app.restart()
}
