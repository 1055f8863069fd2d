import { type ErrorCode, STATUS } from '../../lib/errors.ts'
import { type Operation, requireOperation } from './operations.ts'
import type { Fault } from './types.ts'

/** The fault of a request, and the function that applies it to the reply. */
type Outcome = { fault: Fault; respond: (reply: () => Promise<Response>) => Promise<Response> }

/** Keeps the scripted faults of operations and routes. */
export function createFaults() {
  let faults: { target: string; fault: Fault; left: number }[] = []
  return { add, take }

  /** Fails the next requests of an operation, of a route such as `GET /api/user/profile/v1`, or all of them (`*`). */
  function add(target: Operation | (string & {}), fault: Fault): () => void {
    const isRoute = target === '*' || /^[A-Z]+ \//.test(target)
    if (!isRoute) requireOperation(target)
    const added = { target, fault, left: fault.times ?? 1 }
    faults.push(added)
    return () => {
      faults = faults.filter((other) => other !== added)
    }
  }

  /** Returns the fault of a request, and counts it as applied once; null if there is none. */
  function take(operation: string, route: string, signal?: AbortSignal | null): Outcome | null {
    const found = faults.find(
      ({ target, left }) => left > 0 && [operation, route, '*'].includes(target),
    )
    if (!found) return null
    found.left--
    const { fault } = found
    return { fault, respond: (reply) => respond(fault, reply, signal) }
  }
}

async function respond(
  fault: Fault,
  reply: () => Promise<Response>,
  signal?: AbortSignal | null,
): Promise<Response> {
  const { code, delay = 0, tookEffect = false } = fault
  const answer = code === undefined || tookEffect ? await reply() : null
  if (delay > 0 || code === 'timeout')
    await pause(code === 'timeout' ? Number.POSITIVE_INFINITY : delay, signal)
  if (code === undefined) return answer as Response
  if (code === 'network_error') throw new TypeError('fake server: the network failed')
  if (code === 'reply_invalid' || code === 'timeout')
    return new Response('<html>Welcome</html>', { status: fault.status ?? 200 })
  return errorReply(code, fault)
}

export function errorReply(
  code: string,
  { message = 'This error was requested by the test.', details, retryAfter, status }: Fault,
): Response {
  const body = { code, message, requestId: 'fake', ...(details ? { details } : {}) }
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter)
  const known = STATUS[code as ErrorCode] ?? 500
  return new Response(JSON.stringify(body), { status: status ?? known, headers })
}

/** Waits in real time, or until the request is cancelled. */
function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new TypeError('fake server: the request was cancelled'))
    })
  })
}
