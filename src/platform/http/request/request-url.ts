import { AppError } from '../../../lib/errors.ts'

/** Does not parse the URL: its host may be invalid, and its query may contain a token. */
export function readPath(request: Request): string {
  return readTarget(request).split('?', 1)[0] as string
}

export function readTarget(request: Request): string {
  const { url } = request
  return isWithoutHost(request) ? url : url.slice(url.indexOf('/', url.indexOf('//') + 2))
}

/** Without a valid Host header, Bun returns the bare target, which URL parsers interpret differently. */
export function isWithoutHost({ url }: Request): boolean {
  return url.startsWith('/')
}

export type FromProxy = (request: Request) => boolean

/** The base of URLs in responses: `baseUrl`, or the request's origin. */
export function createBaseUrlReader(
  baseUrl: string | null,
  isFromProxy: FromProxy,
): (request: Request) => string {
  return (request) => baseUrl ?? readOrigin(request, isFromProxy)
}

/** The origin that the client requested. Throws `malformed_request` when the host is invalid. */
function readOrigin(request: Request, isFromProxy: FromProxy): string {
  const parsed = URL.parse(request.url)
  if (parsed === null) throw new AppError('malformed_request', 'The Host header is not valid.')
  const scheme = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase()
  if (scheme === 'https' && isFromProxy(request)) parsed.protocol = 'https:'
  return parsed.origin
}
