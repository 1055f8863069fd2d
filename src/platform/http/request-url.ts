import { AppError } from '../../lib/errors.ts'

/**
 * The path alone, cut out of the URL: a query may hold a token, and a URL whose host is garbage cannot
 * be parsed.
 */
export function pathOf(request: Request): string {
  return targetOf(request).split('?', 1)[0] as string
}

/** Path and query, as they were sent. */
export function targetOf(request: Request): string {
  const { url } = request
  return isWithoutHost(request) ? url : url.slice(url.indexOf('/', url.indexOf('//') + 2))
}

/** When the Host header is missing or invalid, Bun gives the bare target, out of which each reader reads another path. */
export function isWithoutHost({ url }: Request): boolean {
  return url.startsWith('/')
}

/** What URLs in replies begin with: `baseUrl`, or without it what the request names. */
export function createBaseUrlOf(baseUrl: string | null): (request: Request) => string {
  return (request) => baseUrl ?? originOf(request)
}

/** Scheme and host as the request names them. Throws `malformed_request` when the host is none. */
function originOf({ url }: Request): string {
  const parsed = URL.parse(url)
  if (parsed === null) throw new AppError('malformed_request', 'The Host header is not valid.')
  return parsed.origin
}
