import { StripeApiError } from './errors.ts'

/** A fault to inject into a request. `on` names the request, such as `POST /v1/customers`; without it, any request. */
export type Fault = {
  on?: string
  /** Fails only after the request has taken effect, as when a reply is lost. */
  afterEffect?: boolean
} & (
  | { kind: 'error'; status: number; code?: string; headers?: Record<string, string> }
  | { kind: 'slow'; ms: number }
  | { kind: 'cut' | 'oversized' | 'not_json' }
  | { kind: 'redirect'; location: string }
)

const OVERSIZED = 5 * 1024 * 1024

export function matchesFault({ on }: Fault, request: string): boolean {
  return on === undefined || request === on || request.startsWith(`${on}/`)
}

/** The response that the fault causes; null if the request then proceeds normally. */
export async function respondWith(fault: Fault): Promise<Response | null> {
  const headers = { 'content-type': 'application/json' }
  switch (fault.kind) {
    case 'error': {
      const { status, code, headers = {} } = fault
      const { body } = new StripeApiError({
        status,
        type: status >= 500 ? 'api_error' : 'invalid_request_error',
        message: status === 429 ? 'Request rate limit exceeded.' : 'An error occurred.',
        ...(code === undefined ? {} : { code }),
      })
      return Response.json(body, { status, headers })
    }
    case 'slow':
      await Bun.sleep(fault.ms)
      return null
    case 'cut':
      return new Response(cutStream(), { headers })
    case 'oversized':
      return new Response(JSON.stringify({ padding: 'x'.repeat(OVERSIZED) }), { headers })
    case 'not_json':
      return new Response('<html>Bad Gateway</html>', { headers: { 'content-type': 'text/html' } })
    case 'redirect':
      return new Response(null, { status: 302, headers: { location: fault.location } })
  }
}

/** Begins a reply, and closes the connection. */
function cutStream(): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      controller.enqueue(new TextEncoder().encode('{"id": "cus_1", "object": "cus'))
      await Bun.sleep(20)
      // With a reason, Bun would print it.
      controller.error()
    },
  })
}
