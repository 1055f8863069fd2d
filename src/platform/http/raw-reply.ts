import type { Context } from 'elysia'

/**
 * A reply that is already bytes: the headers that every reply has, and `headers` over them. Elysia would
 * copy a Response to merge the two, and a file would then go out as a stream without a length.
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
