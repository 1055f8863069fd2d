import { type Json, toObject } from '../../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import type { SoldPlan, StripeContext } from '../context.ts'
import { StripeApiError } from './api-error.ts'
import { countUnits } from './currencies.ts'

export type Prices = ReturnType<typeof createPrices>

/** The prices at Stripe at which plans are sold. */
export function createPrices({ api, listPlans }: StripeContext) {
  let problems: string[] = []
  return { findForSale, findProblems, lastProblems: () => problems }

  /** Null if the plan is not sold by card. Throws `StripeApiError`. */
  async function findForSale(plan: SoldPlan, environment: StoredEnvironment) {
    if (!isSoldByCard(plan)) return null
    // A sandbox has its own prices.
    const others = (plan.otherProductIds ?? []).filter((id) => id.startsWith('price_'))
    const candidates =
      environment === 'SANDBOX' ? [plan.paymentPriceId, ...others] : [plan.paymentPriceId]
    for (const id of candidates) {
      const price = await read(id, environment)
      if (price?.['active'] === true && price['recurring'] !== null) return id
    }
    return null
  }

  /** The problems with the prices of plans on sale, as sentences. Throws `StripeApiError`. */
  async function findProblems(): Promise<string[]> {
    const { plans } = await listPlans([])
    const found: string[] = []
    for (const plan of plans.filter(isSoldByCard)) {
      const price = await read(plan.paymentPriceId, 'PRODUCTION')
      const problem = describeProblem(plan, price)
      if (problem !== null) found.push(`Plan ${plan.code}: ${problem}`)
    }
    problems = found
    return found
  }

  /** Null if there is none. */
  async function read(id: string, environment: StoredEnvironment): Promise<Json | null> {
    if (!/^price_\w{1,250}$/.test(id)) return null
    try {
      return await api.call(environment, `prices/${id}`)
    } catch (error) {
      if (error instanceof StripeApiError && error.reason === 'unknown') return null
      throw error
    }
  }
}

function isSoldByCard({ source, isEnterprise }: SoldPlan): boolean {
  return !isEnterprise && source.split(',').some((name) => name.trim() === 'stripe')
}

function describeProblem({ paymentPriceId, price, currency }: SoldPlan, found: Json | null) {
  if (found === null) return `Stripe has no price ${paymentPriceId || 'for it'}.`
  if (found['active'] !== true) return `the price ${paymentPriceId} is archived at Stripe.`
  if (toObject(found['recurring'])['interval'] === undefined)
    return `the price ${paymentPriceId} is for a single payment.`
  const stripeCurrency = String(found['currency']).toUpperCase()
  const amount = Number(found['unit_amount']) / countUnits(stripeCurrency)
  const isSame = stripeCurrency === currency.toUpperCase() && amount === price
  return isSame
    ? null
    : `it shows ${price} ${currency.toUpperCase()}, and Stripe charges ${amount} ${stripeCurrency}.`
}
