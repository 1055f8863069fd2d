import { createShares } from '../../../lib/concurrency/slots.ts'
import { type AppError, tooBusy } from '../../../lib/errors.ts'
import type { Requester } from '../images/image-queue.ts'

export type AdmitUpload = ReturnType<typeof createAdmission>

const MIB = 1024 * 1024
/** Bytes in flight: two of the largest uploads per user, and more per IP address, which users may share. */
const USER_SHARE = 128 * MIB
const ADDRESS_SHARE = 512 * MIB
/** The minimum charge also limits connections: 32 per user and 128 per IP address. */
const MIN_CHARGE = 4 * MIB
/** The maximum number of waiting uploads, in total and per user or IP address. */
const QUEUE_LIMITS = { queueLimit: 1_000, queueShare: 32 }
const MAX_WAIT_MS = 60_000

/** Limits the bytes in flight per user and IP address, so that unfinished uploads cannot fill the disk. */
export function createAdmission() {
  const rules = { total: Number.POSITIVE_INFINITY, ...QUEUE_LIMITS, onFull: tooManyUploads }
  const byUser = createShares({ ...rules, share: USER_SHARE })
  const byAddress = createShares({ ...rules, share: ADDRESS_SHARE })
  return admit

  /** Waits until an upload of `size` bytes may start. Dispose of the result once the files are stored or refused. */
  async function admit(
    { userId, ip }: Requester & { userId: string },
    size: number,
    signal: AbortSignal,
  ): Promise<Disposable> {
    const waitSignal = AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)])
    const charge = Math.max(size, MIN_CHARGE)
    using reservations = new DisposableStack()
    reservations.use(await byUser.reserve(userId, charge, waitSignal))
    reservations.use(await byAddress.reserve(ip, charge, waitSignal))
    return reservations.move()
  }
}

function tooManyUploads(): AppError {
  return tooBusy('Too many uploads at once. Try again in a moment.')
}
