import type { Context } from 'elysia'

/**
 * A reply with a raw body and the common headers, overridden by `headers`. Elysia itself would
 * merge the headers by copying the Response, which sends a file as a stream without a length.
 */
export function rawReply(
  set: Context['set'],
  body: string | Uint8Array | Blob | ReadableStream<Uint8Array> | null,
  headers: Record<string, string>,
  status = 200,
): Response {
  const all = { ...(set.headers as Record<string, string>), ...headers }
  set.headers = {}
  return new Response(body as string, { status, headers: all })
}
