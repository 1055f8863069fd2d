import type { UploadInput } from './attachments.ts'
import { randomHex } from './bytes.ts'
import type { Caller } from './caller.ts'
import { type Calls, unwrap } from './calls.ts'
import type { RunCall } from './deadline.ts'
import type { Fetch } from './fetch.ts'
import { encodeUpload } from './form.ts'
import type { InputOf, ReplyOf } from './routes.ts'
import { type StoredSession, senderId } from './session.ts'
import type { CallOptions } from './shared-types.ts'

type AttachmentCallsDeps = {
  call: Caller
  withToken: Calls['withToken']
  runCall: RunCall
  /** The longest time without progress, in ms. */
  timeout: number
  isSealed: boolean
  fetch: Fetch | undefined
}

const ATTACHMENTS = '/api/user/attachments/v1'

/** The query of an upload, and the options that only the client uses. */
export type Upload = InputOf<'post', typeof ATTACHMENTS>[0] &
  Pick<UploadInput, 'files' | 'idempotencyKey' | 'onProgress'>

export function createAttachmentCalls(deps: AttachmentCallsDeps) {
  const { call, withToken, runCall, timeout, isSealed, fetch } = deps
  return { uploadAttachments, listAttachments }

  async function uploadAttachments(
    sender: StoredSession | null,
    upload: Upload,
    options: CallOptions = {},
  ) {
    const { files, onProgress = () => {}, idempotencyKey = randomHex(), ...query } = upload ?? {}
    if (!Array.isArray(files) || !files.every((file) => typeof file?.name === 'string')) {
      throw new TypeError('uploadAttachments needs files, each with a name.')
    }
    const headers = { 'idempotency-key': idempotencyKey }
    // The server processes the files after the last one has arrived.
    const uploadTimeout = (options.timeout ?? timeout) * Math.max(files.length, 1)
    return runCall({ ...options, timeout: uploadTimeout }, async (callDeadline) => {
      // Reading the files may take long enough for another user to sign in.
      const content = await encodeUpload(files, isSealed, fetch)
      const deadline = { ...callDeadline, onProgress }
      const envelope = await withToken(
        (token) => call('post', ATTACHMENTS, token, { query, content, headers, deadline }),
        senderId(sender),
      )
      return unwrap<'post', typeof ATTACHMENTS>(envelope)
    })
  }

  function listAttachments(
    query: InputOf<'get', typeof ATTACHMENTS>[0] = {},
    options?: CallOptions,
  ): Promise<{ attachments: ReplyOf<'get', typeof ATTACHMENTS>; next: string | null }> {
    return runCall(options, async (deadline) => {
      const envelope = await withToken((token) =>
        call('get', ATTACHMENTS, token, { query, deadline }),
      )
      const attachments = unwrap<'get', typeof ATTACHMENTS>(envelope)
      return { attachments, next: envelope.next ?? null }
    })
  }
}
