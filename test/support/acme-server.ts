import { randomBytes } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import {
  calculateJwkThumbprint,
  type FlattenedJWSInput,
  flattenedVerify,
  importJWK,
  type JWK,
} from 'jose'

type Order = { status: string; domains: string[]; token: string; kid: string; certificate: string }
type Signed = { kid: string; jwk: JWK; payload: Record<string, unknown> }

const ALTERNATIVE_NAMES = '2.5.29.17'
const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
x509.cryptoProvider.set(crypto)

/**
 * An ACME certificate authority (RFC 8555). It checks the nonce, signature and URL of every message, and requests
 * challenges on local port `httpPort`. `state.lifetime` is the lifetime of new certificates in ms;
 * while `state.failing`, it refuses all requests.
 */
export async function startAcmeServer(httpPort: number) {
  const state = { failing: false, lifetime: 90 * 24 * 3_600_000, issued: 0, accounts: 0 }
  const nonces = new Set<string>()
  const accounts = new Map<string, JWK>()
  const orders = new Map<string, Order>()
  const keys = await crypto.subtle.generateKey(KEYS, true, ['sign', 'verify'])
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Test CA',
    keys,
    signingAlgorithm: KEYS,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const base = `http://127.0.0.1:${server.port}`
  return {
    url: `${base}/directory`,
    root: root.toString('pem'),
    state,
    [Symbol.dispose]: () => server.stop(true),
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (state.failing) return problem(403, 'rejectedIdentifier')
    if (pathname === '/directory') {
      const names = ['new-nonce', 'new-account', 'new-order']
      const camelCase = (name: string) =>
        name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
      return reply(Object.fromEntries(names.map((name) => [camelCase(name), `${base}/${name}`])))
    }
    if (pathname === '/new-nonce') return reply(null)
    const signed = await verify(request)
    if (signed === null) return problem(400, 'badNonce')
    if (signed instanceof Response) return signed
    const [, resource = '', id = ''] = pathname.split('/')
    if (resource === 'new-account') return newAccount(signed)
    if (resource === 'new-order') return newOrder(signed)
    const order = orders.get(id)
    if (!order || order.kid !== signed.kid) return problem(403, 'unauthorized')
    if (resource === 'chal') await challenge(order, signed)
    if (resource === 'finalize') await finalize(order, String(signed.payload['csr']))
    if (resource === 'cert') return reply(order.certificate)
    return reply(
      resource === 'authz'
        ? authorization(id, order)
        : resource === 'chal'
          ? challengeOf(id, order)
          : orderBody(id, order),
    )
  }

  /** Null for an unknown or reused nonce. */
  async function verify(request: Request): Promise<Signed | null | Response> {
    const jws = (await request.json()) as FlattenedJWSInput
    const head = JSON.parse(Buffer.from(String(jws.protected), 'base64url').toString())
    if (!nonces.delete(head.nonce)) return null
    if (head.url !== request.url) return problem(401, 'unauthorized')
    if (request.headers.get('content-type') !== 'application/jose+json')
      return problem(415, 'malformed')
    const jwk = head.jwk ?? accounts.get(head.kid)
    if (!jwk) return problem(400, 'accountDoesNotExist')
    const { payload } = await flattenedVerify(jws, await importJWK(jwk, head.alg))
    const text = new TextDecoder().decode(payload)
    return { kid: head.kid, jwk, payload: text === '' ? {} : JSON.parse(text) }
  }

  async function newAccount({ jwk, payload }: Signed) {
    if (payload['termsOfServiceAgreed'] !== true) return problem(403, 'userActionRequired')
    const kid = `${base}/account/${await calculateJwkThumbprint(jwk)}`
    if (!accounts.has(kid)) state.accounts++
    accounts.set(kid, jwk)
    return reply({ status: 'valid' }, 201, { location: kid })
  }

  function newOrder({ kid, payload }: Signed) {
    const id = randomBytes(8).toString('hex')
    const domains = (payload['identifiers'] as { value: string }[]).map(({ value }) => value)
    const token = randomBytes(16).toString('base64url')
    orders.set(id, { status: 'pending', domains, token, kid, certificate: '' })
    return reply(orderBody(id, orders.get(id) as Order), 201, { location: `${base}/order/${id}` })
  }

  async function challenge(order: Order, { jwk }: Signed) {
    const path = `/.well-known/acme-challenge/${order.token}`
    const expected = `${order.token}.${await calculateJwkThumbprint(jwk)}`
    const found = await Promise.all(
      order.domains.map((host) =>
        fetch(`http://127.0.0.1:${httpPort}${path}`, { headers: { host } })
          .then((answered) => answered.text())
          .catch(() => ''),
      ),
    )
    order.status = found.every((text) => text === expected) ? 'ready' : 'invalid'
  }

  async function finalize(order: Order, csr: string) {
    const request = new x509.Pkcs10CertificateRequest(Buffer.from(csr, 'base64url'))
    const extension = request.extensions.find(({ type }) => type === ALTERNATIVE_NAMES)
    const names = extension ? new x509.SubjectAlternativeNameExtension(extension.rawData) : null
    const matches = String(names?.names.items.map(({ value }) => value)) === String(order.domains)
    if (order.status !== 'ready' || !names || !matches || !(await request.verify())) return
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `CN=${order.domains[0]}`,
      issuer: root.subject,
      notBefore: new Date(Date.now() - 1_000),
      notAfter: new Date(Date.now() + state.lifetime),
      publicKey: request.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: KEYS,
      extensions: [names],
    })
    order.certificate = `${certificate.toString('pem')}\n${root.toString('pem')}\n`
    order.status = 'valid'
    state.issued++
  }

  function orderBody(id: string, { status, domains }: Order) {
    const identifiers = domains.map((value) => ({ type: 'dns', value }))
    const links = { finalize: `${base}/finalize/${id}`, certificate: `${base}/cert/${id}` }
    return { status, identifiers, authorizations: [`${base}/authz/${id}`], ...links }
  }

  function authorization(id: string, order: Order) {
    const status = { ready: 'valid', valid: 'valid' }[order.status] ?? order.status
    const identifier = { type: 'dns', value: order.domains[0] }
    return { status, identifier, challenges: [challengeOf(id, order)] }
  }

  function challengeOf(id: string, { status, token }: Order) {
    const challengeStatus = { pending: 'pending', invalid: 'invalid' }[status] ?? 'valid'
    return { type: 'http-01', url: `${base}/chal/${id}`, status: challengeStatus, token }
  }

  function reply(body: unknown, status = 200, headers: Record<string, string> = {}) {
    const nonce = randomBytes(16).toString('base64url')
    nonces.add(nonce)
    const all = { 'replay-nonce': nonce, ...headers }
    return typeof body === 'string'
      ? new Response(body, { status, headers: all })
      : Response.json(body, { status, headers: all })
  }

  function problem(status: number, type: string) {
    return reply({ type: `urn:ietf:params:acme:error:${type}`, detail: type }, status)
  }
}
