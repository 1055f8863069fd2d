import type Stripe from 'stripe'
import { createIds } from './ids.ts'

type Kinds = {
  product: Stripe.Product
  price: Stripe.Price
  customer: Stripe.Customer | Stripe.DeletedCustomer
  payment_method: Stripe.PaymentMethod
  'checkout.session': Stripe.Checkout.Session
  subscription: Stripe.Subscription
  subscription_schedule: Stripe.SubscriptionSchedule
  invoice: Stripe.Invoice
  invoice_payment: Stripe.InvoicePayment
  payment_intent: Stripe.PaymentIntent
  charge: Stripe.Charge
  refund: Stripe.Refund
  dispute: Stripe.Dispute
  webhook_endpoint: Stripe.WebhookEndpoint
}

export type Kind = keyof Kinds
export type StripeObject = Kinds[Kind]
export type ObjectStore = ReturnType<typeof createObjectStore>

type Table<T> = { byId: Map<string, T>; live: T[]; test: T[] }

/** All objects of the account, in both modes. They are changed in place. */
export function createObjectStore(seed: number) {
  const createId = createIds(seed)
  const modes = new Map<string, boolean>()
  const tables: { [K in Kind]: Table<Kinds[K]> } = {
    product: createTable(),
    price: createTable(),
    customer: createTable(),
    payment_method: createTable(),
    'checkout.session': createTable(),
    subscription: createTable(),
    subscription_schedule: createTable(),
    invoice: createTable(),
    invoice_payment: createTable(),
    payment_intent: createTable(),
    charge: createTable(),
    refund: createTable(),
    dispute: createTable(),
    webhook_endpoint: createTable(),
  }
  return { createId, add, replace, find, findAny, read, list, isLive, customer }

  function add<K extends Kind>(kind: K, object: Kinds[K], isInLiveMode: boolean): Kinds[K] {
    modes.set(object.id, isInLiveMode)
    tables[kind].byId.set(object.id, object)
    tables[kind][isInLiveMode ? 'live' : 'test'].push(object)
    return object
  }

  function replace<K extends Kind>(kind: K, object: Kinds[K]) {
    tables[kind].byId.set(object.id, object)
  }

  function find<K extends Kind>(kind: K, id: string): Kinds[K] | undefined {
    return tables[kind].byId.get(id)
  }

  /** An object of any kind. */
  function findAny(id: string): StripeObject | undefined {
    const table = Object.values(tables).find(({ byId }) => byId.has(id))
    return table?.byId.get(id)
  }

  /** An object that must exist. */
  function read<K extends Kind>(kind: K, id: string): Kinds[K] {
    const found = find(kind, id)
    if (found === undefined) throw new Error(`there is no ${kind} ${id}`)
    return found
  }

  /** Oldest first. */
  function list<K extends Kind>(kind: K, isInLiveMode: boolean): Kinds[K][] {
    return tables[kind][isInLiveMode ? 'live' : 'test']
  }

  function isLive(id: string): boolean {
    return modes.get(id) ?? false
  }

  /** A customer that has not been deleted. */
  function customer(id: string): Stripe.Customer {
    const found = read('customer', id)
    if (found.deleted) throw new Error(`customer ${id} has been deleted`)
    return found
  }
}

function createTable<T>(): Table<T> {
  return { byId: new Map(), live: [], test: [] }
}
