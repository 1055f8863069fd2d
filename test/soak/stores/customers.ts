import type { Clock } from '../../support/app.ts'
import { serveAppStoreApi } from '../../support/app-store/api.ts'
import { createAppStore, type FakeSubscription } from '../../support/app-store/app-store.ts'
import { nextChange, providerEvent } from '../../support/app-store/life.ts'
import { STATUS } from '../../support/app-store/subscription.ts'
import { servePlayApi } from '../../support/play-store/api.ts'
import type { DeveloperNotification } from '../../support/play-store/formats.ts'
import {
  nextPlayChange,
  type PurchaseChain,
  playProviderEvent,
} from '../../support/play-store/life.ts'
import { createPlayStore } from '../../support/play-store/play-store.ts'
import type { Turn } from '../../support/store-histories.ts'
import { createStripeCustomers, type StripeCustomersOptions } from './stripe.ts'

export const MONTH = 30 * 24 * 60 * 60 * 1000
const APP_STORE_PATH = '/api/webhooks/app-store/v1'
const PLAY_PATH = '/api/webhooks/play/v1'

const DAY = 24 * 60 * 60 * 1000
/** The server expects a change at the end of a period, but not during account hold or a pause. */
const ASKED_WITHIN: Record<string, number> = { ON_HOLD: DAY, PAUSED: 7 * DAY }

/** A message from a store: its path and, at each attempt, its body and token. */
export type StoreMessage = {
  path: string
  attempt: () => { json: unknown; token?: string }
  /** Whether the message is only about the purchase that the current one has replaced. */
  isAboutFormer?: boolean
}

export type StoreName = 'app_store' | 'play_store' | 'stripe'

/** The purchases of a customer in one store. */
export type StoreSimulation = {
  store: StoreName
  firstMessages: StoreMessage[]
  next: (turn: Turn) => { at: number; type: string | null; apply: () => StoreMessage[] }
  providerEvent: (type: string, at: number) => object
  /** The purchase as the app submits it. */
  submission: () => object
  /**
   * The key of the current purchase, whether it is paid for now, and how soon (ms) the server asks about it without a
   * message.
   */
  current: () => { key: string; isActive: boolean; productId: string; askedWithin: number }
}

/** All stores and their APIs on one clock. */
export async function createStores(clock: Clock, options: StripeCustomersOptions) {
  const now = () => clock.now
  const appStore = await createAppStore(clock)
  const playStore = createPlayStore(clock)
  const apple = serveAppStoreApi(appStore, now)
  const google = servePlayApi(playStore, now)
  const down = new Set<StoreName>()
  const stripe = createStripeCustomers(clock, options)
  return {
    appStore,
    playStore,
    apple,
    google,
    stripe,
    environment: {
      ...appStore.environment,
      ...apple.environment,
      ...google.environment,
      ...stripe.fake.environment,
    },
    beginInAppStore,
    beginOnGooglePlay,
    down,
    setDown,
    async [Symbol.asyncDispose]() {
      await apple[Symbol.asyncDispose]()
      await google[Symbol.asyncDispose]()
      await stripe.fake[Symbol.asyncDispose]()
    },
  }

  /** Makes all requests to a store fail, or work again. */
  function setDown(store: StoreName, isDown: boolean) {
    if (isDown) down.add(store)
    else down.delete(store)
    if (store === 'app_store') apple.outage.isOn = isDown
    else if (store === 'play_store') google.isDown = isDown
    else stripe.fake.api.isDown = isDown
  }

  function beginInAppStore(userId: string | null): StoreSimulation {
    const bought: FakeSubscription = appStore.buy({ product: 'pro', periodMs: MONTH, userId })
    const messagesOf = ({ body }: { body: object }): StoreMessage[] => [
      { path: APP_STORE_PATH, attempt: () => ({ json: body }) },
    ]
    return {
      store: 'app_store',
      firstMessages: messagesOf(bought.notification),
      next: (turn) => {
        const { apply, ...change } = nextChange(bought, turn, clock.now.getTime(), MONTH)
        return { ...change, apply: () => messagesOf(apply()) }
      },
      providerEvent: (type, at) => providerEvent(bought, type, at, userId),
      submission: () => ({
        store: 'app_store',
        signedTransaction: bought.signedTransaction(),
      }),
      current: () => {
        const isInGrace = bought.status() === STATUS.inGrace
        const { gracePeriodExpiresDate } = bought.renewal
        const end = isInGrace ? gracePeriodExpiresDate : bought.transaction['expiresDate']
        const isPaid = isInGrace || bought.status() === STATUS.active
        return {
          key: `PRODUCTION|${bought.originalTransactionId}`,
          isActive: isPaid && Number(end) > clock.now.getTime(),
          productId: String(bought.transaction['productId']),
          askedWithin: 0,
        }
      },
    }
  }

  function beginOnGooglePlay(userId: string | null): StoreSimulation {
    const bought = playStore.buy({ product: 'pro', basePlan: null, periodMs: MONTH, userId })
    const chain: PurchaseChain = { current: bought, all: [] }
    return {
      store: 'play_store',
      firstMessages: pushes([bought.notification ?? []].flat(), bought.token),
      next: (turn) => {
        const { apply, ...change } = nextPlayChange(chain, turn, clock.now.getTime(), MONTH)
        return { ...change, apply: () => pushes(apply(), chain.current.token) }
      },
      providerEvent: (type, at) => playProviderEvent(chain.current, type, at, userId),
      submission: () => chain.current.submission(),
      current: () => {
        const { record, purchase, state } = chain.current
        const [item] = purchase.lineItems
        const isPaid = ['ACTIVE', 'CANCELED', 'IN_GRACE_PERIOD'].includes(state())
        return {
          key: `PRODUCTION|${record.orders[0]?.id}`,
          isActive: isPaid && Date.parse(item?.expiryTime ?? '') > clock.now.getTime(),
          productId: item?.productId ?? '',
          askedWithin: ASKED_WITHIN[state()] ?? 0,
        }
      },
    }
  }

  function pushes(notifications: DeveloperNotification[], purchaseToken: string): StoreMessage[] {
    return notifications.map((notification) => {
      const { json } = google.pushOf(notification)
      const token = notification.subscriptionNotification?.purchaseToken
      return {
        path: PLAY_PATH,
        // Pub/Sub signs each attempt with a new token.
        attempt: () => ({ json, token: google.pushOf({}).token }),
        isAboutFormer: token !== undefined && token !== purchaseToken,
      }
    })
  }
}
