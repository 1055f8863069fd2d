import type { Context } from 'elysia'
import { sha256 } from '../../lib/crypto.ts'
import { varyBy } from './cors.ts'
import { data } from './envelope.ts'
import { rawReply } from './raw-reply.ts'

/** Marks a route that replies with `sendPublic`, for the API docs. */
export const cached = { 'x-cached': true }

/** A rendered reply, cached until its content changes. */
type PublicReply = { body: string; etag: string }

const MAX_REPLIES_PER_VALUE = 1_000

/** Renders once per value and variant key, such as a language. */
export function createPublicCache<T extends object>(
  render: (value: T, variant: string) => unknown = (value) => value,
): (value: T, variant?: string) => PublicReply {
  const replies = new WeakMap<T, Map<string, PublicReply>>()
  return (value, variant = '') => {
    const known = replies.get(value)?.get(variant)
    if (known) return known
    const byVariant = replies.get(value) ?? new Map<string, PublicReply>()
    // Clients can choose variants, so the number of cached replies is bounded.
    if (byVariant.size >= MAX_REPLIES_PER_VALUE) byVariant.clear()
    const reply = encode(render(value, variant))
    replies.set(value, byVariant.set(variant, reply))
    return reply
  }
}

function encode(response: unknown): PublicReply {
  const body = JSON.stringify(data(response))
  return { body, etag: `"${sha256(body).slice(0, 22)}"` }
}

/**
 * Replies 200 with the body, or 304 when the client has it. `maxAge` is in seconds; `language` is set when negotiated,
 * `isPrivate` when the reply is for one user or device.
 */
export function sendPublic(
  { body, etag }: PublicReply,
  { request, set }: Pick<Context, 'request' | 'set'>,
  maxAge: number,
  { language, isPrivate = false }: { language?: string; isPrivate?: boolean } = {},
): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': `${isPrivate ? 'private' : 'public'}, max-age=${maxAge}`,
    etag,
  }
  if (language !== undefined) {
    headers['content-language'] = language
    varyBy(set, 'Accept-Language')
  }
  const unchanged = etagMatches(request.headers.get('if-none-match'), etag)
  return unchanged ? rawReply(set, null, headers, 304) : rawReply(set, body, headers)
}

/** RFC 9110 §13.1.2: a list of tags, compared weakly, or `*`. */
export function etagMatches(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  return ifNoneMatch
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
