import { withTimeout } from '../../../lib/concurrency/with-timeout.ts'
import { readBody, readJson } from '../../../platform/http/body/body.ts'
import { requestInfo } from '../../../platform/http/request/request-log.ts'

const MAX_BYTES = 16 * 1024
const MAX_WAIT_MS = 500

/** Marks a refused request as stray unless its body looks like a delivery, so that scanners trigger no alert. */
export async function markIfStray(request: Request, isDelivery: (body: unknown) => boolean) {
  const reading = readBody(request, MAX_BYTES).then((bytes) => isDelivery(readJson(bytes)))
  const looksReal = await withTimeout(reading, MAX_WAIT_MS, () => new Error()).catch(() => false)
  requestInfo(request).isStray = !looksReal
}
