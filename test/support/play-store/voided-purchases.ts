import { googleError } from './api-error.ts'
import { DAY, type VoidedEntry } from './formats.ts'

const PAGE_SIZE = 3
const HORIZON = 30 * DAY
/** How much a client's clock may differ from Google's. */
const CLOCK_TOLERANCE = 60_000

type Window = { start: number; end: number; type: string; hasPartial: boolean }
/** The position of a page, with the filters of the first page. */
type Place = Window & { offset: number }

/** `voidedpurchases.list`: filtered by when Google saw a purchase voided, a few on each page. */
export function listVoidedPurchases(
  entries: VoidedEntry[],
  query: URLSearchParams,
  now: number,
): Response {
  const place = placeOf(query, now)
  if (place === null) return googleError({ status: 400, reason: 'invalid' })
  const { start, end, type, hasPartial, offset } = place
  const all = entries
    .filter(({ seenAt }) => seenAt >= start && seenAt <= end)
    .filter(({ isSubscription }) => type === '1' || !isSubscription)
    .filter(({ voided }) => hasPartial || voided.voidedQuantity === undefined)
  const size = Math.min(PAGE_SIZE, Number(query.get('maxResults') ?? PAGE_SIZE))
  const page = all.slice(offset, offset + size)
  const next = encode({ ...place, offset: offset + size })
  return Response.json({
    ...(page.length === 0 ? {} : { voidedPurchases: page.map(({ voided }) => voided) }),
    ...(offset + size < all.length ? { tokenPagination: { nextPageToken: next } } : {}),
  })
}

/** Null if a parameter is invalid. */
function placeOf(query: URLSearchParams, now: number): Place | null {
  const token = query.get('token')
  if (token !== null) return decode(token)
  const place = {
    start: Number(query.get('startTime') ?? now - HORIZON),
    end: Number(query.get('endTime') ?? now),
    type: query.get('type') ?? '0',
    hasPartial: query.get('includeQuantityBasedPartialRefund') === 'true',
    offset: 0,
  }
  const { start, end, type } = place
  const isValid =
    start >= now - HORIZON - CLOCK_TOLERANCE &&
    end <= now + CLOCK_TOLERANCE &&
    start <= end &&
    ['0', '1'].includes(type)
  return isValid ? place : null
}

function encode(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function decode(token: string): Place | null {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString()) as Place
  } catch {
    return null
  }
}
