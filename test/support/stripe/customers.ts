import type Stripe from 'stripe'
import { isOver, type Subscriptions } from './billing/subscriptions.ts'
import type { Core } from './core.ts'
import { type CustomerFields, createCustomerObject, deletedCustomer } from './objects/customer.ts'

export type Customers = ReturnType<typeof createCustomers>

export function createCustomers({ objects, timeline, events }: Core, subscriptions: Subscriptions) {
  return { create, update, remove, subscriptionsOf }

  function create(fields: CustomerFields = {}, isLive = true): Stripe.Customer {
    const made = { id: objects.createId('cus', 14), created: timeline.now(), livemode: isLive }
    const customer = createCustomerObject(made, fields)
    objects.add('customer', customer, isLive)
    events.emit('customer.created', customer)
    return customer
  }

  /** Metadata is merged; an empty value removes a key. */
  function update(customer: Stripe.Customer, { metadata = {}, ...fields }: CustomerFields) {
    events.update('customer.updated', customer, () => {
      Object.assign(customer, fields)
      for (const [name, value] of Object.entries(metadata)) {
        if (value === '') delete customer.metadata[name]
        else customer.metadata[name] = value
      }
    })
    return customer
  }

  /** Deletes a customer for good and cancels its subscriptions immediately. */
  function remove(customer: Stripe.Customer): Stripe.DeletedCustomer {
    for (const subscription of subscriptionsOf(customer)) {
      if (!isOver(subscription)) subscriptions.cancel(subscription)
    }
    events.emit('customer.deleted', customer)
    const deleted = deletedCustomer(customer)
    objects.replace('customer', deleted)
    return deleted
  }

  function subscriptionsOf({ id, livemode }: Stripe.Customer): Stripe.Subscription[] {
    return objects.list('subscription', livemode).filter(({ customer }) => customer === id)
  }
}
