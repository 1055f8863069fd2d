import { readToken } from '../../../platform/http/authenticate.ts'
import { isSealed } from '../../../platform/http/body/opened-request.ts'
import {
  type FindCountry,
  type FindIp,
  UNKNOWN_ADDRESS,
} from '../../../platform/http/request/client-address.ts'
import {
  readDevice,
  readInitialLocale,
  readTimezone,
} from '../../../platform/http/request/request-headers.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'

type Origins = {
  findIp: FindIp
  findCountry: FindCountry
  findBaseUrl: (request: Request) => string
}

export function createOriginReader({ findIp, findCountry, findBaseUrl }: Origins) {
  return (request: Request, server: Bun.Server<unknown> | null): RequestOrigin => {
    const ip = findIp(request, server)
    return {
      ip,
      device: {
        ...readDevice(request, findCountry(request)),
        ...(ip === UNKNOWN_ADDRESS ? {} : { ip }),
      },
      token: readToken(request.headers.get('authorization')),
      baseUrl: findBaseUrl(request),
    }
  }
}

/** The arguments of `readBearerUserId`. */
export function readBearer(request: Request): [token: string | null, sealed: boolean] {
  return [readToken(request.headers.get('authorization')), isSealed(request)]
}

export function readLocale({ headers }: Request) {
  return { locale: readInitialLocale(headers), timezone: readTimezone(headers) }
}
