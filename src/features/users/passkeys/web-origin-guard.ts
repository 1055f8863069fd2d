import { AppError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { RelyingParty } from '../context/context.ts'

/** Native apps send no origin; hybrid apps send one with another scheme. */
const WEB_ORIGIN = /^https?:\/\/[\w.:[\]-]{1,200}$/

/** Keeps browsers from creating passkeys on pages where the server would refuse them. */
export function createWebOriginGuard({ origins: accepted }: RelyingParty, log: Log) {
  let refused: string | null = null
  return { check, findRefusal: () => refused && { origin: refused, accepted } }

  /** Throws `wrong_origin`. */
  function check({ request }: { request: Request }) {
    const origin = request.headers.get('origin') ?? ''
    if (!WEB_ORIGIN.test(origin) || accepted.includes(origin)) return
    const advice = 'a web page was not allowed to use passkeys: add its origin to PASSKEY_ORIGINS'
    if (origin !== refused) log.warn({ reason: 'wrong_origin', origin, accepted }, advice)
    refused = origin
    throw new AppError('wrong_origin', 'Passkeys cannot be used on this website.')
  }
}
