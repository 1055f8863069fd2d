import { createBudget } from '../../../lib/budget.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Requester } from '../images/image-queue.ts'

export type AdmitUpload = ReturnType<typeof createAdmission>

const MIB = 1024 * 1024
/** Bytes of uploads in flight: two of the largest of one user, and more where people share an address. */
const USER_SHARE = 128 * MIB
const ADDRESS_SHARE = 512 * MIB
/** What a small upload counts as: connections are limited too, to 32 of one user and 128 of an address. */
const MIN_CHARGE = 4 * MIB
/** Uploads that wait for others of the same user or address: in all, and of one. */
const QUEUE = { queueLimit: 1_000, queueShare: 32 }
const MAX_WAIT_MS = 60_000

/** Limits what one user and one address have in flight, so that no one fills the disk with unfinished uploads. */
export function createAdmission() {
  const rules = { total: Number.POSITIVE_INFINITY, ...QUEUE, onFull: tooManyUploads }
  const byUser = createBudget({ ...rules, share: USER_SHARE })
  const byAddress = createBudget({ ...rules, share: ADDRESS_SHARE })
  return admit

  /** Waits until an upload of `size` bytes may begin. Dispose of it once the files are stored or refused. */
  async function admit(
    { userId, ip }: Requester & { userId: string },
    size: number,
    signal: AbortSignal,
  ): Promise<Disposable> {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(MAX_WAIT_MS)])
    const charge = Math.max(size, MIN_CHARGE)
    using places = new DisposableStack()
    places.use(await byUser(userId, charge, patience))
    places.use(await byAddress(ip, charge, patience))
    return places.move()
  }
}

function tooManyUploads(): AppError {
  return new AppError('unavailable', 'Too many uploads at once. Try again in a moment.', {
    retryAfterSeconds: 5,
  })
}
