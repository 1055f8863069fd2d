import { ApiError } from './api-error.ts'
import type { Deadline } from './deadline.ts'
import { type Fetch, type RawRequest, type Sending, startFetch, type Transmit } from './fetch.ts'
import { createPart } from './part.ts'

/** Sends with the platform's `fetch`. Streams and uploads with progress are a part of their own. */
export function createTransmit(fetch?: Fetch): Transmit {
  const streaming = createPart(() => import('./streaming.ts'))
  return async (request, deadline) => {
    throwIfFailed(deadline)
    const isPlain = request.onText === undefined && deadline.onProgress === undefined
    const send = isPlain ? sendByFetch : (await streaming()).sendStreaming
    throwIfFailed(deadline)
    const sending = send(fetch, request, deadline)
    deadline.onCancel(sending.cancel)
    const reply = await sending.reply.catch((cause) => {
      throwIfFailed(deadline)
      const message = 'The server cannot be reached.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
    })
    throwIfFailed(deadline)
    return reply
  }
}

function throwIfFailed({ failure }: Deadline) {
  const cancellation = failure()
  if (cancellation) throw cancellation
}

function sendByFetch(fetch: Fetch | undefined, request: RawRequest): Sending {
  const controller = new AbortController()
  const reply = async () => {
    const response = await startFetch(fetch, request, controller.signal)
    const header = (name: string) => response.headers.get(name)
    return { status: response.status, text: await response.text(), header }
  }
  return { reply: reply(), cancel: () => controller.abort() }
}
