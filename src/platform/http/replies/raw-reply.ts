import type { Context } from 'elysia'

/** `headers` override the common ones. Elysia would copy the Response, and stream a file without its length. */
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
