import { isForwarded } from './request/client-address.ts'

const SESSION = 'homeport-console'
const TEST = 'homeport-console-test'
const SESSION_SECONDS = 7 * 24 * 60 * 60
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/

export function readSessionToken(request: Request): string | null {
  return read(request, SESSION)
}

/** Expires after the session's maximum lifetime. */
export function sessionCookie(request: Request, token: string): string {
  return write(SESSION, token, SESSION_SECONDS, isOnLoopback(request))
}

/** Deletes the session's cookie under every name that is read. */
export function deletedCookies(request: Request): string[] {
  const secure = write(SESSION, '', 0, false)
  return isOnLoopback(request) ? [write(SESSION, '', 0, true), secure] : [secure]
}

/** A cookie with the same attributes as the session's: a browser that returns it will keep a session. */
export function testCookie(request: Request): string {
  return write(TEST, '1', SESSION_SECONDS, isOnLoopback(request))
}

export function hasTestCookie(request: Request): boolean {
  return read(request, TEST) !== null
}

function read(request: Request, name: string): string | null {
  const cookies = new Bun.CookieMap(request.headers.get('cookie') ?? '')
  const plain = isOnLoopback(request) ? cookies.get(name) : null
  return plain ?? cookies.get(`__Host-${name}`)
}

/** Safari drops secure cookies of http://localhost (https://bugs.webkit.org/281149). Other hosts could plant an unprefixed one. */
function write(name: string, value: string, maxAge: number, isPlain: boolean): string {
  const [prefix, secure] = isPlain ? ['', ''] : ['__Host-', 'Secure; ']
  return `${prefix}${name}=${value}; Path=/; Max-Age=${maxAge}; ${secure}HttpOnly; SameSite=Strict`
}

/**
 * Whether the page is plain http on the browser's own machine, such as through an SSH tunnel. Relies on host names:
 * the server sees only the address of the tunnel or the container.
 */
function isOnLoopback({ headers, url }: Request): boolean {
  const host = headers.get('host')
  const addresses = [url, host && `http://${host}`, headers.get('origin')]
  return !isForwarded(headers) && addresses.every((one) => one === null || isPlainLoopback(one))
}

function isPlainLoopback(address: string): boolean {
  const parsed = URL.parse(address)
  return parsed?.protocol === 'http:' && LOOPBACK.test(parsed.hostname)
}
