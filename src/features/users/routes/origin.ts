import type { IpOf } from '../../../platform/http/client-ip.ts'
import { deviceOf, initialLocaleOf, timezoneOf } from '../../../platform/http/request-headers.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'

type Origins = { ipOf: IpOf; baseUrlOf: (request: Request) => string }

/** Creates a function that tells where a request comes from. */
export function createOriginOf({ ipOf, baseUrlOf }: Origins) {
  return (request: Request, server: Bun.Server<unknown> | null): RequestOrigin => ({
    ip: ipOf(request, server),
    device: deviceOf(request),
    baseUrl: baseUrlOf(request),
  })
}

/** The locale and time zone that the device reports. */
export function localeOf({ headers }: Request) {
  return { locale: initialLocaleOf(headers), timezone: timezoneOf(headers) }
}
