import type { TestApp } from '../app.ts'
import { expectOk, type History, runHistories, type StoreSimulation } from '../store-histories.ts'
import type { PlayApi } from './api.ts'
import type { DeveloperNotification } from './formats.ts'
import { nextPlayChange, type PurchaseChain, playProviderEvent } from './life.ts'
import type { FakeSubscription } from './plan-changes.ts'
import type { PlayStore } from './play-store.ts'
import { PLAY_PATH } from './world.ts'

type PlaySetup = { app: TestApp; store: PlayStore; api: PlayApi }

/** Runs histories on Google Play. Returns the subscriptions. */
export async function runPlayHistories(setup: PlaySetup, histories: History[]) {
  const subscriptions: FakeSubscription[] = []
  await runHistories(
    setup.app,
    histories,
    (history, periodMs) => beginOnGooglePlay(setup, history, periodMs, subscriptions),
    () => runPlayJobs(setup.app),
  )
  return subscriptions
}

/** Runs the jobs that query Google. */
export async function runPlayJobs({ services: { stores } }: TestApp) {
  await stores.play?.voided.catchUp()
  await stores.play?.queue.flush()
}

/** Buys a subscription, adds it and those that follow it to `subscriptions`, and describes what may happen. */
export function beginOnGooglePlay(
  { app, store, api }: PlaySetup,
  { isSandbox }: Pick<History, 'isSandbox'>,
  periodMs: number,
  subscriptions: FakeSubscription[],
  userId: string | null = null,
): StoreSimulation {
  const bought = store.buy({ isTest: isSandbox, product: 'pro', basePlan: null, periodMs, userId })
  const chain: PurchaseChain = { current: bought, all: subscriptions }
  subscriptions.push(bought)
  return {
    sendFirstMessage: senderOf([bought.notification ?? []].flat()),
    next: (turn, now) => {
      const { apply, ...change } = nextPlayChange(chain, turn, now, periodMs)
      return { ...change, apply: () => senderOf(apply()) }
    },
    providerEvent: (type, at) => playProviderEvent(chain.current, type, at, userId),
  }

  function senderOf(notifications: DeveloperNotification[]) {
    const messages = notifications.map((notification) => api.pushOf(notification).json)
    return async () => {
      // Pub/Sub signs each attempt with a new token.
      const { token } = api.pushOf({})
      for (const json of messages) await expectOk(app.ask('POST', PLAY_PATH, { token, json }))
      await app.services.stores.play?.queue.flush()
    }
  }
}
