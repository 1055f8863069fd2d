import { clientError } from './api-error.ts'
import type { Deadline } from './deadline.ts'
import { type Fetch, sendByFetch, type Transmit } from './fetch.ts'
import { createPart } from './part.ts'

/** Sends with the platform's `fetch`. Loads the part for streams and for progress when it is needed. */
export function createTransmit(fetch?: Fetch): Transmit {
  const streaming = createPart(() => import('./streaming.ts'))
  return async (request, deadline) => {
    throwIfFailed(deadline)
    const isPlain = request.onText === undefined && deadline.onProgress === undefined
    const sendStreaming = isPlain ? null : (await streaming()).sendStreaming
    throwIfFailed(deadline)
    const sending = sendStreaming?.(fetch, request, deadline) ?? sendByFetch(fetch, request)
    deadline.onCancel(sending.cancel)
    const reply = await sending.reply.catch((cause) => {
      throwIfFailed(deadline)
      throw clientError('network_error', 'The server cannot be reached.', cause)
    })
    throwIfFailed(deadline)
    return reply
  }
}

function throwIfFailed({ failure }: Deadline) {
  const cancellation = failure()
  if (cancellation) throw cancellation
}
