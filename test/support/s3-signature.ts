import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

type Account = { accessKeyId: string; secretAccessKey: string; region: string }

const MINUTE = 60 * 1000

/** Checks AWS Signature Version 4 in the query or headers. Returns an error code, or null if valid. */
export function refusalOf(request: IncomingMessage, account: Account, now: number): string | null {
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${request.headers.host}`)
  const isPresigned = searchParams.has('X-Amz-Signature')
  const signed = isPresigned ? signedInQuery(searchParams) : signedInHeaders(request)
  const [accessKeyId, ...scope] = signed.credential.split('/')
  const age = now - timeOf(signed.date)
  if (accessKeyId !== account.accessKeyId) return 'InvalidAccessKeyId'
  // Written so that NaN is refused too.
  if (!(age <= signed.lifetime && age >= -15 * MINUTE)) return 'AccessDenied'
  const canonical = [
    request.method,
    pathname,
    canonicalQuery(searchParams),
    ...signed.headers.map((name) => `${name}:${String(request.headers[name]).trim()}`),
    '',
    signed.headers.join(';'),
    isPresigned ? 'UNSIGNED-PAYLOAD' : request.headers['x-amz-content-sha256'],
  ].join('\n')
  const hash = createHash('sha256').update(canonical).digest('hex')
  const stringToSign = ['AWS4-HMAC-SHA256', signed.date, scope.join('/'), hash].join('\n')
  const steps = [signed.date.slice(0, 8), account.region, 's3', 'aws4_request', stringToSign]
  const signature = steps.reduce<Buffer | string>(
    (key, step) => createHmac('sha256', key).update(step).digest(),
    `AWS4${account.secretAccessKey}`,
  )
  const isGood = Buffer.from(signature as Buffer).toString('hex') === signed.signature
  return isGood && signed.headers.includes('host') ? null : 'SignatureDoesNotMatch'
}

function signedInQuery(query: URLSearchParams) {
  const param = (name: string) => query.get(`X-Amz-${name}`) ?? ''
  return {
    credential: param('Credential'),
    date: param('Date'),
    headers: param('SignedHeaders').split(';'),
    signature: param('Signature'),
    lifetime: Number(param('Expires')) * 1000,
  }
}

function signedInHeaders({ headers }: IncomingMessage) {
  const part = (name: string) =>
    new RegExp(`${name}=([^, ]+)`).exec(headers.authorization ?? '')?.[1] ?? ''
  return {
    credential: part('Credential'),
    date: String(headers['x-amz-date']),
    headers: part('SignedHeaders').split(';'),
    signature: part('Signature'),
    lifetime: 15 * MINUTE,
  }
}

/** Parses a date such as `20260131T235959Z`. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:'))
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
