import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import { planFromPrice } from '../objects/catalog.ts'
import { createScheduleObject } from '../objects/schedule.ts'
import { endOfPeriod, hasSameInterval } from './periods.ts'
import { periodEnd, type Subscriptions } from './subscriptions.ts'

/** Schedules, which change a subscription's price at the end of the period. */
export function createSchedules(
  { objects, timeline, events }: Core,
  subscriptions: Pick<Subscriptions, 'schedules'>,
) {
  Object.assign(subscriptions.schedules, { apply, end })
  return { planSwitch, release, nextPhase }

  /** Plans another price for the period after this one. */
  function planSwitch(subscription: Stripe.Subscription, price: Stripe.Price) {
    if (subscription.schedule !== null) release(subscription)
    const [item] = subscription.items.data
    const now = timeline.now()
    const end = periodEnd(subscription)
    const quantity = item?.quantity ?? 1
    const current = { start: item?.current_period_start ?? now, end, price: item?.price.id ?? '' }
    const next = { start: end, end: endOfPeriod(price, end, end), price: price.id }
    const schedule = createScheduleObject(
      { id: objects.createId('sub_sched'), created: now },
      subscription,
      [current, next].map((phase) => ({ ...phase, quantity })),
    )
    objects.add('subscription_schedule', schedule, subscription.livemode)
    events.update('customer.subscription.updated', subscription, () => {
      subscription.schedule = schedule.id
    })
    events.emit('subscription_schedule.created', schedule)
    return schedule
  }

  /** Begins the next phase at the end of a period; after the last phase, ends the schedule. */
  function apply(subscription: Stripe.Subscription) {
    const schedule = scheduleOf(subscription)
    if (schedule === null) return
    const phase = nextPhase(subscription)
    if (phase === null) return finish(subscription, schedule, 'released')
    schedule.current_phase = { start_date: phase.start_date, end_date: phase.end_date }
    const [item] = subscription.items.data
    const price = objects.read('price', phase.items[0]?.price as string)
    if (item === undefined) return
    if (!hasSameInterval(item.price, price)) subscription.billing_cycle_anchor = phase.start_date
    Object.assign(item, { price, plan: planFromPrice(price) })
    events.emit('subscription_schedule.updated', schedule)
  }

  /** The subscription continues without its schedule. */
  function release(subscription: Stripe.Subscription) {
    const schedule = scheduleOf(subscription)
    if (schedule === null) return
    events.update('customer.subscription.updated', subscription, () => {
      finish(subscription, schedule, 'released')
    })
  }

  /** Ends the schedule together with its subscription. */
  function end(subscription: Stripe.Subscription) {
    const schedule = scheduleOf(subscription)
    if (schedule !== null) finish(subscription, schedule, 'canceled')
  }

  function finish(
    subscription: Stripe.Subscription,
    schedule: Stripe.SubscriptionSchedule,
    status: 'released' | 'canceled',
  ) {
    const now = timeline.now()
    subscription.schedule = null
    Object.assign(schedule, { status, current_phase: null, subscription: null })
    if (status === 'canceled') schedule.canceled_at = now
    else Object.assign(schedule, { released_at: now, released_subscription: subscription.id })
    events.emit(`subscription_schedule.${status}`, schedule)
  }

  /** Null if there is no schedule, or if its last phase is running. */
  function nextPhase(subscription: Stripe.Subscription): Stripe.SubscriptionSchedule.Phase | null {
    const schedule = scheduleOf(subscription)
    const end = schedule?.current_phase?.end_date
    return schedule?.phases.find(({ start_date }) => start_date === end) ?? null
  }

  function scheduleOf({ schedule }: Stripe.Subscription): Stripe.SubscriptionSchedule | null {
    return schedule === null ? null : objects.read('subscription_schedule', schedule as string)
  }
}
