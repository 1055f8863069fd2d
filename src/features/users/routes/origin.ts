import { readToken } from '../../../platform/http/authenticate.ts'
import { isSealed } from '../../../platform/http/body/opened-request.ts'
import {
  type CountryOf,
  type IpOf,
  UNKNOWN_ADDRESS,
} from '../../../platform/http/request/client-address.ts'
import {
  readDevice,
  readInitialLocale,
  readTimezone,
} from '../../../platform/http/request/request-headers.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'

type Origins = { ipOf: IpOf; countryOf: CountryOf; baseUrlOf: (request: Request) => string }

/** Creates a function that tells where a request comes from. */
export function createOriginOf({ ipOf, countryOf, baseUrlOf }: Origins) {
  return (request: Request, server: Bun.Server<unknown> | null): RequestOrigin => {
    const ip = ipOf(request, server)
    return {
      ip,
      device: {
        ...readDevice(request, countryOf(request)),
        ...(ip === UNKNOWN_ADDRESS ? {} : { ip }),
      },
      token: readToken(request.headers.get('authorization')),
      baseUrl: baseUrlOf(request),
    }
  }
}

/** The arguments of `bearerUserId`. */
export function readBearer(request: Request): [token: string | null, sealed: boolean] {
  return [readToken(request.headers.get('authorization')), isSealed(request)]
}

/** The locale and time zone that the device reports. */
export function readLocale({ headers }: Request) {
  return { locale: readInitialLocale(headers), timezone: readTimezone(headers) }
}
