import { createHmac } from 'node:crypto'
import { sha256 } from '../../../../lib/crypto/hash.ts'
import { AppError } from '../../../../lib/errors.ts'
import { StoreError } from './fault.ts'

/** Watches one attempt of a request: `signal` aborts it unless `onProgress` is called in time. */
export type Watch = { signal: AbortSignal; onProgress: () => void }

/** An attempt ends after this many deadlines, because a store that sends a byte at a time makes progress forever. */
const MAX_DEADLINES = 12
const MAX_ATTEMPTS = 3
/** Errors that a retry cannot resolve. */
const PERMANENT = /^(AccessDenied|SignatureDoesNotMatch|InvalidAccessKeyId|NoSuchBucket)$/
const BACKOFF_MS = 200

/** Leaves the original error out of the cause, because its URL contains the signature. */
export function throwStoreError(error: unknown): never {
  const { code, path, message: original } = error as Error & { code?: unknown; path?: unknown }
  const host = URL.parse(String(path))?.host
  const plain = original.replace(/(https?:[^\s"?]*)\?[^\s"]*/g, '$1')
  const message = host ? `${plain} (${host})` : plain
  const isNamed = typeof code === 'string' && !message.startsWith(code)
  throw new StoreError(isNamed ? `${code}: ${message}` : message, !PERMANENT.test(String(code)))
}

/** Tries up to three times. An attempt ends after `deadline` ms without progress, or at its time limit. */
export async function withRetries<T>(
  deadline: number,
  work: (watch: Watch) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    if (tries > 1) await Bun.sleep(BACKOFF_MS * 4 ** (tries - 2) * (0.5 + Math.random()))
    const controller = new AbortController()
    const timer = setTimeout(() => {
      controller.abort(new Error(`S3 made no progress for ${Math.round(deadline)} ms`))
    }, deadline)
    const limitTimer = setTimeout(() => {
      controller.abort(new Error(`S3 took longer than ${Math.round(deadline * MAX_DEADLINES)} ms`))
    }, deadline * MAX_DEADLINES)
    try {
      return await work({ signal: controller.signal, onProgress: () => void timer.refresh() })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (error.isTransient && tries < MAX_ATTEMPTS) continue
      throw storeUnavailable(error)
    } finally {
      clearTimeout(timer)
      clearTimeout(limitTimer)
      // Ignore anything else that the store sends.
      controller.abort()
    }
  }
}

/** The store's response is the cause. */
export function storeUnavailable(cause: StoreError): AppError {
  const options = { retryAfterSeconds: 5, cause }
  return new AppError('unavailable', 'The storage is unavailable. Try again in a moment.', options)
}

/** Adds parameters to a presigned URL and signs it again (AWS Signature Version 4): Bun's `presign` accepts none. */
export function signParameters(
  presigned: string,
  method: string,
  parameters: Record<string, string>,
  secretAccessKey: string,
): string {
  if (Object.keys(parameters).length === 0) return presigned
  const url = new URL(presigned)
  url.searchParams.delete('X-Amz-Signature')
  const all = [...url.searchParams, ...Object.entries(parameters)]
  const query = all
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&')
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/')
  const canonical = [
    method,
    url.pathname,
    query,
    `host:${url.host}`,
    '',
    'host',
    'UNSIGNED-PAYLOAD',
  ]
  const date = url.searchParams.get('X-Amz-Date')
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical.join('\n'), 'hex')]
  const signature = [...scope, text.join('\n')].reduce<string | Buffer>(
    (key, part) => createHmac('sha256', key).update(part).digest(),
    `AWS4${secretAccessKey}`,
  )
  return `${url.origin}${url.pathname}?${query}&X-Amz-Signature=${(signature as Buffer).toString('hex')}`
}

function encode(text: string): string {
  const percentEncode = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replace(/[!'()*]/g, percentEncode)
}
