import { join } from 'node:path'
import type { BunFile, Server } from 'bun'
import { type Context, Elysia } from 'elysia'
import { notFound } from '../../../lib/errors.ts'
import { assetPath } from '../../../lib/files/asset-path.ts'
import { varyBy } from '../cors.ts'
import { hidden } from '../replies/envelope.ts'
import { rawReply } from '../replies/raw-reply.ts'
import type { RequestCheck } from '../request/client-address.ts'
import { readPath } from '../request/request-url.ts'

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  // The preview of an e-mail.
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const CONTENT_TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}
const ENCODINGS = ['br', 'gzip']
const ASSET_NAME = /^[\w-]+\.(js|css|svg)$/

/** Serves the same page at every path under `/console`. */
export function consolePage() {
  return new Elysia({ name: 'console-page' })
    .get('/console', page, hidden)
    .get('/console/*', page, hidden)
    .get('/console/assets/:name', file, hidden)

  function page({ request, set }: PageRequest) {
    return send('index.html', request, set, {
      'content-security-policy': CSP,
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    })
  }

  function file({ request, set, params }: PageRequest & { params: { name: string } }) {
    if (!ASSET_NAME.test(params.name)) throw notFound()
    // The name contains a hash of the content.
    return send(params.name, request, set, {
      'cache-control': 'public, max-age=31536000, immutable',
    })
  }
}

type PageRequest = { request: Request; set: Context['set'] }

/** Sends a file in the best encoding that the browser accepts. */
async function send(
  name: string,
  request: Request,
  set: Context['set'],
  headers: Record<string, string>,
): Promise<Response> {
  const accepted = request.headers.get('accept-encoding') ?? ''
  const encoding = ENCODINGS.find((candidate) => new RegExp(`\\b${candidate}\\b`).test(accepted))
  const found = await findFile(name, encoding)
  if (!found) throw notFound()
  varyBy(set, 'Accept-Encoding')
  const type = CONTENT_TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
  const all = { ...headers, 'content-type': type }
  return rawReply(set, found, encoding ? { ...all, 'content-encoding': encoding } : all)
}

async function findFile(name: string, encoding: string | undefined): Promise<BunFile | null> {
  const ending = encoding === 'br' ? '.br' : encoding === 'gzip' ? '.gz' : ''
  const found = Bun.file(join(assetPath('console'), name + ending))
  return (await found.exists()) ? found : null
}

const CONSOLE = /^\/console(\/|$)/

/** Searching the URL first is faster than extracting its path, and most requests are not for the console. */
export function isForConsole(request: Request): boolean {
  return request.url.includes('/console') && CONSOLE.test(readPath(request))
}

/** Answers console requests from outside the allowed networks with 404, before any other check. */
export function consoleNetworks({ isAllowed }: { isAllowed: RequestCheck }) {
  return new Elysia({ name: 'console-networks' }).onRequest(({ request, server }) => {
    if (!isForConsole(request)) return
    if (!isAllowed(request, server as Server<unknown> | null)) throw notFound()
  })
}
