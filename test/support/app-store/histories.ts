import type { TestApp } from '../app.ts'
import { expectOk, type History, runHistories, type StoreSimulation } from '../store-histories.ts'
import type { AppStore, FakeSubscription } from './app-store.ts'
import { nextChange, providerEvent } from './life.ts'
import { FAKE_APP } from './subscription.ts'
import { type Notification, PATH } from './world.ts'

/** Runs histories in the App Store. Returns the subscriptions. */
export async function runAppStoreHistories(app: TestApp, store: AppStore, histories: History[]) {
  const subscriptions: FakeSubscription[] = []
  await runHistories(app, histories, (history, periodMs) =>
    beginInAppStore(app, store, history, periodMs, subscriptions),
  )
  return subscriptions
}

/** Buys a subscription, adds it to `subscriptions`, and describes what may happen to it. */
export function beginInAppStore(
  app: TestApp,
  store: AppStore,
  { isSandbox }: Pick<History, 'isSandbox'>,
  periodMs: number,
  subscriptions: FakeSubscription[],
  userId: string | null = null,
): StoreSimulation {
  const bought = store.buy({
    environment: isSandbox ? 'Sandbox' : 'Production',
    product: 'pro',
    periodMs,
    userId,
  })
  subscriptions.push(bought)
  const senderOf =
    ({ body }: Notification) =>
    () =>
      expectOk(app.ask('POST', PATH, { json: body }))
  /** The current period under its id after a restore on another device, without the renewal info. */
  const restored = () => {
    const transactionId = `${bought.transaction['transactionId']}0`
    const transaction = {
      ...bought.transaction,
      transactionId,
      signedDate: app.clock.now.getTime(),
    }
    const { bundleId, appleId } = FAKE_APP
    const appAppleId = isSandbox ? {} : { appAppleId: appleId }
    const signedTransactionInfo = store.signer.sign(transaction)
    return {
      data: { environment: bought.environment, ...appAppleId, bundleId, signedTransactionInfo },
    }
  }
  return {
    sendFirstMessage: senderOf(bought.notification),
    next: (turn, now) => {
      const { apply, ...change } = nextChange(bought, turn, now, periodMs)
      return {
        ...change,
        apply: () => {
          const send = senderOf(apply())
          if (turn.choice % 3 !== 0) return send
          const sendRestored = senderOf(
            store.notification('REFUND_DECLINED', undefined, restored()),
          )
          return async () => [await send(), await sendRestored()]
        },
      }
    },
    providerEvent: (type, at) => providerEvent(bought, type, at, userId),
  }
}
