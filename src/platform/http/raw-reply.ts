import type { Context } from 'elysia'

/**
 * A reply with a raw body: the common headers, overridden by `headers`. Elysia would copy a Response to merge the two,
 * which sends a file as a stream without a length.
 */
export function rawReply(
  set: Context['set'],
  body: string | Blob | ReadableStream<Uint8Array> | null,
  headers: Record<string, string>,
  status = 200,
): Response {
  const all = { ...(set.headers as Record<string, string>), ...headers }
  set.headers = {}
  return new Response(body, { status, headers: all })
}
