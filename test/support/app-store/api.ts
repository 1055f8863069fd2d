import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import type { AppStore, FakePurchase } from './app-store.ts'
import { FAKE_APP } from './subscription.ts'

const ISSUER_ID = '57246542-96fe-1a63-e053-0824d011072a'
const KEY_ID = 'ABCDE12345'
const PAGE_SIZE = 20

type Window = { startDate: number; endDate: number }

/** A response that replaces a regular one. */
type Fault = {
  status: number
  errorCode?: number
  headers?: Record<string, string>
  json?: object
}

export type AppStoreApi = ReturnType<typeof serveAppStoreApi>

/** The App Store Server API of a fake App Store, on loopback. It checks the tokens of requests as Apple does. */
export function serveAppStoreApi(store: AppStore, now: () => Date) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const keyFile = join(mkdtempSync(join(tmpdir(), 'homeport-app-store-key-')), 'key.p8')
  writeFileSync(keyFile, pem, { mode: 0o600 })
  const requests: string[] = []
  const accountTokens: Record<string, string> = {}
  const consumptions: { transactionId: string; body: unknown }[] = []
  /** Faults of the next requests, first to last; null for a request that succeeds. */
  const faults: (Fault | null)[] = []
  /** While it is on, every request fails. Every response waits for `held`. */
  const outage = { isOn: false, held: null as Promise<void> | null }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      requests.push(`${request.method} ${pathname}`)
      await outage.held
      if (outage.isOn) return new Response(null, { status: 503 })
      const fault = faults.shift()
      if (fault) {
        const { status, errorCode, headers = {}, json } = fault
        if (json) return Response.json(json, { status })
        const body = errorCode === undefined ? '' : JSON.stringify({ errorCode, errorMessage: '' })
        return new Response(body, { status, headers })
      }
      if (!(await isAuthorized(request))) return new Response('Unauthenticated', { status: 401 })
      const [, , , first = '', second = '', third] = pathname.split('/')
      if (first === 'subscriptions') return subscriptionsOf(second)
      if (first === 'transactions' && second === 'consumption') {
        consumptions.push({ transactionId: third ?? '', body: await request.json() })
        return new Response(null, { status: 202 })
      }
      if (first === 'transactions' && third === 'appAccountToken') {
        const body = (await request.json()) as { appAccountToken: string }
        accountTokens[second] = body.appAccountToken
        return new Response(null, { status: 200 })
      }
      if (first === 'transactions') return transactionOf(second)
      if (first === 'lookup') return ordersOf(second)
      if (second === 'history') return history((await request.json()) as Window, searchParams)
      if (second === 'test' && third === undefined) {
        return Response.json({ testNotificationToken: 'test-1' })
      }
      if (second === 'test')
        return Response.json({ sendAttempts: [{ sendAttemptResult: 'SUCCESS' }] })
      return new Response(null, { status: 404 })
    },
  })
  return {
    environment: {
      APP_STORE_ISSUER_ID: ISSUER_ID,
      APP_STORE_KEY_ID: KEY_ID,
      APP_STORE_KEY_FILE: keyFile,
      APP_STORE_API_URL: `http://127.0.0.1:${server.port}`,
    },
    requests,
    faults,
    outage,
    accountTokens,
    consumptions,
    [Symbol.asyncDispose]: () => server.stop(true),
  }

  async function isAuthorized(request: Request): Promise<boolean> {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    try {
      const key = createPublicKey(createPrivateKey(pem))
      const { payload, protectedHeader } = await jwtVerify(token, key, {
        algorithms: ['ES256'],
        issuer: ISSUER_ID,
        audience: 'appstoreconnect-v1',
        currentDate: now(),
      })
      const isShort = Number(payload.exp) - Number(payload.iat) <= 3600
      return protectedHeader.kid === KEY_ID && payload['bid'] === FAKE_APP.bundleId && isShort
    } catch {
      return false
    }
  }

  /** Any transaction of the customer will do; the fake App Store has only one customer. */
  function subscriptionsOf(transactionId: string): Response {
    const isOf = (one: FakePurchase) => one.originalTransactionId === transactionId
    const subscriptions = store.purchases.filter((one) => one.signedRenewal !== undefined)
    const isKnown = store.purchases.some(isOf)
    const found = subscriptions.find(isOf) ?? (isKnown ? subscriptions[0] : undefined)
    if (!found) return notFound()
    const { originalTransactionId, signedTransaction, signedRenewal, status } = found
    const transaction = {
      originalTransactionId,
      status: status?.(),
      signedTransactionInfo: signedTransaction(),
      signedRenewalInfo: signedRenewal?.(),
    }
    return Response.json({
      ...FAKE_APP,
      data: [{ subscriptionGroupIdentifier: '1', lastTransactions: [transaction] }],
    })
  }

  function transactionOf(transactionId: string): Response {
    const found = store.purchases.find((one) => one.originalTransactionId === transactionId)
    return found ? Response.json({ signedTransactionInfo: found.signedTransaction() }) : notFound()
  }

  function ordersOf(order: string): Response {
    const found = store.purchases.filter(
      (one) => store.orderOf(one.originalTransactionId) === order,
    )
    return Response.json({
      status: found.length === 0 ? 1 : 0,
      signedTransactions: found.map((one) => one.signedTransaction()),
    })
  }

  function history({ startDate, endDate }: Window, query: URLSearchParams): Response {
    const start = Number(query.get('paginationToken') ?? 0)
    const first = firstFrom(store.sent, startDate)
    const end = firstFrom(store.sent, endDate + 1)
    const all = { length: end - first }
    const page = store.sent.slice(first + start, Math.min(first + start + PAGE_SIZE, end))
    return Response.json({
      notificationHistory: page.map(({ signedPayload }) => ({ signedPayload, sendAttempts: [] })),
      hasMore: start + PAGE_SIZE < all.length,
      paginationToken: String(start + PAGE_SIZE),
    })
  }
}

/** The index of the first of `sent` that was sent at `time` or later. */
function firstFrom(sent: AppStore['sent'], time: number): number {
  let low = 0
  for (let high = sent.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sent[middle]?.at ?? 0) < time) low = middle + 1
    else high = middle
  }
  return low
}

function notFound(): Response {
  return Response.json({ errorCode: 4040010, errorMessage: 'not found' }, { status: 404 })
}
