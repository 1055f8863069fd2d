import { type Fault, googleError, unknownMethod } from './api-error.ts'
import { PACKAGE_NAME } from './formats.ts'
import type { PlayStore } from './play-store.ts'
import { answerPurchaseCall, type PurchaseCall, parsePurchaseCall } from './purchase-calls.ts'
import { createPushSigner, PUSH_ACCOUNT, PUSH_AUDIENCE } from './push.ts'
import { createServiceAccount } from './service-account.ts'
import { listVoidedPurchases } from './voided-purchases.ts'

const PATH = /^\/androidpublisher\/v3\/applications\/([^/]+)\/purchases\/(.+)$/

export type PlayApi = ReturnType<typeof servePlayApi>

/** The Google Play Developer API of a fake Play Store, Google's token endpoint and Google's keys, on loopback. */
export function servePlayApi(store: PlayStore, now: () => Date) {
  const account = createServiceAccount(now)
  const push = createPushSigner(now)
  const parallel = new Map<string, number>()
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer })
  const url = `http://127.0.0.1:${server.port}`
  const api = {
    environment: {
      PLAY_PACKAGES: PACKAGE_NAME,
      PLAY_SERVICE_ACCOUNT_FILE: account.keyFile,
      PLAY_PUSH_ACCOUNT: PUSH_ACCOUNT,
      PLAY_PUSH_AUDIENCE: PUSH_AUDIENCE,
      PLAY_API_URL: url,
      PLAY_TOKEN_URL: `${url}/token`,
      PLAY_JWKS_URL: `${url}/certs`,
    },
    /** Every request, such as `GET subscriptionsv2` or `POST acknowledge`. */
    requests: [] as string[],
    /** The requests about one purchase token. */
    purchaseRequests: [] as { request: string; token: string }[],
    /** Faults of the next requests to the API, first to last; null for a request that succeeds. */
    faults: [] as (Fault | null)[],
    tokenFaults: [] as (Fault | null)[],
    keyFaults: [] as (Fault | null)[],
    /** Every request to the API fails. */
    isDown: false,
    /** How long a response waits, after its request has taken effect. */
    delayMs: 0,
    /** If set, responses wait until it resolves. */
    held: null as Promise<void> | null,
    hasProductsV2: true,
    /** The most requests that read the same purchase at the same time. */
    maxParallelPerToken: 0,
    get tokensIssued() {
      return account.tokensIssued()
    },
    revokeAccessTokens: account.revokeAccessTokens,
    rotateKeys: push.rotateKeys,
    pushOf: push.pushOf,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
  return api

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/token') {
      api.requests.push('POST token')
      return faultOf(api.tokenFaults) ?? account.issueToken(request, `${url}/token`)
    }
    if (pathname === '/certs') {
      api.requests.push('GET certs')
      return faultOf(api.keyFaults) ?? push.certs()
    }
    const [, packageName = '', path = ''] = PATH.exec(pathname) ?? []
    const call = parsePurchaseCall(request.method, path)
    api.requests.push(nameOf(request.method, path, call))
    return call === null
      ? delayed(await answerCall(request, packageName, path, null))
      : trackParallel(call, async () => delayed(await answerCall(request, packageName, path, call)))
  }

  async function answerCall(
    request: Request,
    packageName: string,
    path: string,
    call: PurchaseCall | null,
  ): Promise<Response> {
    const body = await request.text()
    if (api.isDown) return googleError({ status: 503, reason: 'backendError' })
    const fault = faultOf(api.faults)
    if (fault) return fault
    const isVoidedList = path === 'voidedpurchases' && request.method === 'GET'
    if (call === null && !isVoidedList) return unknownMethod()
    if (call?.collection === 'productsv2' && !api.hasProductsV2) return unknownMethod()
    if (!account.isAuthorized(request)) return googleError({ status: 401, reason: 'authError' })
    if (decodeURIComponent(packageName) !== store.packageName) {
      return googleError({ status: 404, reason: 'applicationNotFound' })
    }
    store.refundUnacknowledged()
    const at = now().getTime()
    if (call !== null) return answerPurchaseCall(store, call, body, at)
    return listVoidedPurchases(store.voided, new URL(request.url).searchParams, at)
  }

  /** Counts the requests that read a purchase at the same time. */
  async function trackParallel(call: PurchaseCall, run: () => Promise<Response>) {
    const { token, action } = call
    api.purchaseRequests.push({ request: nameOf(call.method, '', call), token })
    if (action !== 'get') return run()
    const count = (parallel.get(token) ?? 0) + 1
    parallel.set(token, count)
    api.maxParallelPerToken = Math.max(api.maxParallelPerToken, count)
    try {
      return await run()
    } finally {
      parallel.set(token, (parallel.get(token) ?? 1) - 1)
    }
  }

  async function delayed(response: Response): Promise<Response> {
    if (api.delayMs > 0) await Bun.sleep(api.delayMs)
    await api.held
    return response
  }
}

function nameOf(method: string, path: string, call: PurchaseCall | null): string {
  if (call === null) return `${method} ${path}`
  return `${method} ${call.action === 'get' ? call.collection : call.action}`
}

function faultOf(faults: (Fault | null)[]): Response | null {
  const fault = faults.shift()
  return fault ? googleError(fault) : null
}
