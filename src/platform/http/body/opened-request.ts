const bodies = new WeakMap<Request, Uint8Array>()

/** The sealed content of a request; `token` when it was sealed as well. */
type Opened = { body: Uint8Array; contentType: string | null; token: string | undefined }

/** Makes a sealed request look like a plain one: its token, content type, length and body. */
export function setOpenedRequest(request: Request, { body, contentType, token }: Opened) {
  const { headers } = request
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  headers.delete('payload')
  // Each response is sealed with its own key, so it can be neither cached nor compared. A change keeps its If-None-Match.
  if (request.method === 'GET' || request.method === 'HEAD') headers.delete('if-none-match')
  headers.delete('transfer-encoding')
  if (contentType === null) headers.delete('content-type')
  else headers.set('content-type', contentType)
  headers.set('content-length', String(body.byteLength))
  bodies.set(request, body)
}

export function isSealed(request: Request): boolean {
  return bodies.has(request)
}

/** Null for a plain request. */
export function openedBody(request: Request): Uint8Array | null {
  return bodies.get(request) ?? null
}
