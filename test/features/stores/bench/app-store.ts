import { join } from 'node:path'
import { readAppleDelivery } from '../../../../src/features/stores/apple/delivery.ts'
import { createTokenVerifier } from '../../../../src/features/stores/apple/token.ts'
import type { Load } from '../../../bench/load.ts'
import { median } from '../../../bench/median.ts'
import { http, ROUNDS, SECONDS } from '../../../bench/rounds.ts'
import { type Measured, measure } from '../../../bench/sealed.ts'
import { runHomeport, startHomeport, WEBHOOK_TOKEN } from '../../../bench/servers.ts'
import { serveAppStoreApi } from '../../../support/app-store/api.ts'
import { createAppStore } from '../../../support/app-store/app-store.ts'
import { FAKE_APP } from '../../../support/app-store/subscription.ts'

const PORT = 4807
/** More than one round can send. */
const NOTIFICATIONS = 12_000
const CATCH_UP = 10_000
const VERIFIED = 2_000

/** Compares App Store notifications with the billing provider's events, and measures a catch-up after a long outage. */
export async function benchAppStore(folder: string) {
  const clock = { now: new Date(), advance() {} }
  const store = await createAppStore(clock)
  await using api = serveAppStoreApi(store, () => new Date())
  const environment = { ...store.environment, ...api.environment }
  reportVerification(store)

  const server = await startHomeport(join(folder, 'app-store'), PORT, environment)
  const common = { port: PORT, connections: 32, seconds: SECONDS, request: '' }
  const rounds: Record<'notifications' | 'events', Measured>[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const notifications = { ...common, file: await fileOf('notifications', notificationRequest) }
    const events = { ...common, file: await fileOf('events', eventRequest) }
    const measured = {
      notifications: await measure(server, notifications as Load),
      events: await measure(server, events as Load),
    }
    if (round > 0) rounds.push(measured)
  }
  await server.stop()
  const ratio = median(rounds.map((one) => one.notifications.perSecond / one.events.perSecond))
  const [notifications, events] = (['notifications', 'events'] as const).map((kind) => {
    const perSecond = Math.round(median(rounds.map((round) => round[kind].perSecond)))
    const cpu = median(rounds.map((round) => round[kind].cpu))
    return `${perSecond}/s with ${cpu.toFixed(2)} ms of CPU each`
  })
  console.log(
    `App Store notification, against the billing provider's event: ${ratio.toFixed(2)} — ${notifications} against ${events}`,
  )

  store.sent.splice(0)
  for (let at = 0; at < CATCH_UP; at++) store.buy()
  const dataDir = join(folder, 'app-store-catch-up')
  await runHomeport(dataDir, ['init'])
  const startedAt = performance.now()
  const { stdout, peak } = await runHomeport(dataDir, ['stores', 'catch-up'], environment)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`catch-up: ${stdout.trim()} ${seconds} s, peak ${peak} MB resident`)

  function notificationRequest(): string {
    const body = JSON.stringify(store.buy({ userId: crypto.randomUUID() }).notification.body)
    return http('POST', '/api/webhooks/app-store/v1', undefined, body)
  }

  function eventRequest(at: number): string {
    const id = `${Date.now()}-${at}`
    const event = {
      id,
      type: 'INITIAL_PURCHASE',
      event_timestamp_ms: Date.now(),
      app_user_id: `user-${id}`,
      environment: 'PRODUCTION',
      store: 'APP_STORE',
      product_id: 'pro_month',
      entitlement_ids: ['pro'],
      purchased_at_ms: Date.now(),
      expiration_at_ms: Date.now() + 2_592_000_000,
      transaction_id: id,
      original_transaction_id: id,
    }
    const body = JSON.stringify({ api_version: '1.0', event })
    return http('POST', '/api/webhooks/billing/v1', WEBHOOK_TOKEN, body)
  }

  async function fileOf(name: string, requestOf: (at: number) => string) {
    const requests = Array.from({ length: NOTIFICATIONS }, (_, at) => requestOf(at))
    const file = join(folder, `${name}.json`)
    await Bun.write(file, JSON.stringify(requests))
    return file
  }
}

/** A notification has three signatures: its own, and those of its transaction and its renewal info. */
function reportVerification(store: Awaited<ReturnType<typeof createAppStore>>) {
  const verify = createTokenVerifier(store.signer.root)
  const times = Array.from({ length: VERIFIED }, () => {
    const { signedPayload } = store.buy().notification.body
    const startedAt = performance.now()
    readAppleDelivery(signedPayload, verify, [FAKE_APP])
    return performance.now() - startedAt
  })
  const [first = 0] = times
  console.log(
    `verification of a notification: ${median(times).toFixed(2)} ms, the first one ${first.toFixed(1)} ms`,
  )
}
