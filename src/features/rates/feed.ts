import { fetchBounded, readTextCapped } from '../../lib/net/bounded-fetch.ts'
import type { RateSet } from './model.ts'

/** The validators of the last response, for a conditional request. */
type Validators = { etag: string | null; lastModified: string | null }

export type FetchOutcome =
  | ({ kind: 'fetched'; set: RateSet } & Validators)
  | { kind: 'unchanged' }
  | { kind: 'failed'; reason: string }

export type Feed = {
  provider: string
  url: string
  accept: string
  /** Throws a `FeedError` if the body is invalid. */
  parse: (body: string) => RateSet
}

const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 256 * 1024

/** Requests the rates once. Failures are outcomes, not exceptions. */
export async function fetchRates(
  feed: Feed,
  { etag, lastModified }: Validators,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  try {
    const response = await fetchBounded(feed.url, {
      timeoutMs: TIMEOUT_MS,
      signal,
      headers: {
        accept: feed.accept,
        'user-agent': 'Mozilla/5.0 (compatible; homeport)',
        ...(etag ? { 'if-none-match': etag } : {}),
        ...(lastModified ? { 'if-modified-since': lastModified } : {}),
      },
    })
    if (response.status === 304) return { kind: 'unchanged' }
    if (response.status !== 200) {
      await response.body?.cancel()
      return { kind: 'failed', reason: `the provider responded with ${response.status}` }
    }
    const body = await readTextCapped(response, MAX_BODY_BYTES)
    if (body === null)
      throw new FeedError('the response is too long, or compressed although the request forbids it')
    const set = feed.parse(body)
    return {
      kind: 'fetched',
      set,
      etag: response.headers.get('etag'),
      lastModified: response.headers.get('last-modified'),
    }
  } catch (error) {
    if (error instanceof FeedError) return { kind: 'failed', reason: error.message }
    // Network error messages may contain the URL with the API key.
    return { kind: 'failed', reason: `${new URL(feed.url).host} cannot be reached` }
  }
}

/** A body that does not match the provider's format. */
export class FeedError extends Error {}
