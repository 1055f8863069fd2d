/** The bodies of sealed requests, as they were before they were sealed. */
const bodies = new WeakMap<Request, Uint8Array>()

/** What was sealed of a request; `token` where it was sealed too. */
type Opened = { body: Uint8Array; contentType: string | null; token: string | undefined }

/** Makes a request look as if it had come plain: its token, its content type, its length and its body. */
export function setOpenedRequest(request: Request, { body, contentType, token }: Opened) {
  const { headers } = request
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  headers.delete('payload')
  // The reply is sealed under a key of its own: it can be neither cached nor compared.
  headers.delete('if-none-match')
  headers.delete('transfer-encoding')
  if (contentType === null) headers.delete('content-type')
  else headers.set('content-type', contentType)
  headers.set('content-length', String(body.byteLength))
  bodies.set(request, body)
}

/** Whether a request came sealed. */
export function isSealed(request: Request): boolean {
  return bodies.has(request)
}

/** The body of a request that came sealed; null for a plain one. */
export function openedBody(request: Request): Uint8Array | null {
  return bodies.get(request) ?? null
}
