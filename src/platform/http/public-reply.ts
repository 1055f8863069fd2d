import type { Context } from 'elysia'
import { sha256 } from '../../lib/crypto.ts'
import { varyBy } from './cors.ts'
import { data } from './envelope.ts'
import { rawReply } from './raw-reply.ts'

/** Tells the docs that a route answers with `sendPublic`. */
export const cached = { 'x-cached': true }

/** A rendered reply of a public endpoint, kept until its content changes. */
type PublicReply = { body: string; etag: string }

/** Replies of one value. */
const MOST_KEPT = 1_000

/** Renders each value once a language, or another word of what it depends on: the same object gives the same reply. */
export function createPublicCache<T extends object>(
  translate: (value: T, language: string) => unknown = (value) => value,
): (value: T, language?: string) => PublicReply {
  const replies = new WeakMap<T, Map<string, PublicReply>>()
  return (value, language = '') => {
    const known = replies.get(value)?.get(language)
    if (known) return known
    const byLanguage = replies.get(value) ?? new Map<string, PublicReply>()
    // Who asks says in part what is rendered: what is kept is bounded.
    if (byLanguage.size >= MOST_KEPT) byLanguage.clear()
    const reply = render(translate(value, language))
    replies.set(value, byLanguage.set(language, reply))
    return reply
  }
}

function render(response: unknown): PublicReply {
  const body = JSON.stringify(data(response))
  return { body, etag: `"${sha256(body).slice(0, 22)}"` }
}

/**
 * 200 with the body, or 304 when the caller has it. `maxAge` in seconds; `language` when negotiated; `isPrivate` when
 * it is for one person or device.
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
