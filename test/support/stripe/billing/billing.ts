import type { Core } from '../core.ts'
import { createChanges } from './changes.ts'
import { createCollection } from './collection.ts'
import { createDisputes } from './disputes.ts'
import { createInvoices } from './invoices.ts'
import { createPayments } from './payments.ts'
import { createRefunds } from './refunds.ts'
import { createSchedules } from './schedules.ts'
import { createSubscriptions } from './subscriptions.ts'

export type Billing = ReturnType<typeof createBilling>

/** Subscriptions, their invoices and payments. */
export function createBilling(core: Core) {
  const invoices = createInvoices(core)
  const payments = createPayments(core)
  const collection = createCollection(core, invoices, payments)
  const subscriptions = createSubscriptions(core, invoices, collection)
  return {
    invoices,
    payments,
    collection,
    subscriptions,
    schedules: createSchedules(core, subscriptions),
    changes: createChanges(core, invoices, subscriptions),
    refunds: createRefunds(core),
    disputes: createDisputes(core, payments, subscriptions),
  }
}
