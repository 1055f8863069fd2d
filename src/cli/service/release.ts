import { basename, dirname, join } from 'node:path'
import { UsageError } from '../../lib/command.ts'
import { type Release, verifySums } from '../../lib/crypto/release-signature.ts'
import { readBytesCapped } from '../../lib/net/bounded-fetch.ts'
import { BUILD, BUILD_INFO, VERSION } from '../../version.ts'

const SUMS = 'SHA256SUMS'
const SIGNATURE = 'SHA256SUMS.sig'

const MAX_SUMS_BYTES = 1024 * 1024
const MAX_REDIRECTS = 5
const UNSIGNED_ADVICE = 'download the file yourself and run "homeport upgrade <file> --unsigned".'

/** The version and SHA-256 of a file, signed by the release key. */
type SignedFile = Pick<Release, 'version' | 'date'> & { sum: string }

/** `source` as a URL; null when it is a path. */
export function parseReleaseUrl(source: string): URL | null {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(source)) return null
  const url = URL.parse(source)
  if (url?.protocol === 'https:') return url
  throw new UsageError(
    `${redactSource(source)} is refused: a release is downloaded over https:// only.`,
  )
}

/** A URL without secrets, such as a password or a signature. Returns a path unchanged. */
export function redactSource(source: string): string {
  const url = source.includes('://') ? URL.parse(source) : null
  return url ? `${url.protocol}//${url.host}${url.pathname}` : source
}

/**
 * Checks the signature of the SHA256SUMS next to `source`. Throws `UsageError` unless it is signed and names the file.
 */
export async function readSignedFile(source: string): Promise<SignedFile> {
  const url = parseReleaseUrl(source)
  const keys = BUILD_INFO?.releaseKeys ?? []
  if (keys.length === 0) {
    throw new UsageError(
      `This executable was built without a release key and cannot check a signature: ${UNSIGNED_ADVICE}`,
    )
  }
  const name = basename(url?.pathname ?? source)
  const sums = await readNextTo(source, url, SUMS)
  const signature = await readNextTo(source, url, SIGNATURE)
  const release = verifySums(sums.toString(), signature, keys)
  if (release === null) {
    throw new UsageError(
      `${SUMS} next to ${redactSource(source)} is not signed by the release key: nothing was changed.`,
    )
  }
  const sum = release.sums.get(name)
  if (sum !== undefined) return { ...release, sum }
  throw new UsageError(
    `${SUMS} next to ${redactSource(source)} does not list ${name}: keep the file name from the release.`,
  )
}

/** Throws `UsageError` for an older version, or an older commit of the same version. */
export function assertNotOlder({ version, date }: { version: string; date: string | null }) {
  const order = Bun.semver.order(version, VERSION)
  const ownDate = BUILD_INFO?.date ?? null
  const isOlder = date !== null && ownDate !== null && Date.parse(date) < Date.parse(ownDate)
  if (order > 0 || (order === 0 && !isOlder)) return
  const other = date === null ? version : `${version} from ${date.slice(0, 10)}`
  throw new UsageError(
    `Version ${other} is older than this one, ${BUILD}: add --allow-downgrade to install it.`,
  )
}

/** Fetches over https only, redirects included. */
export async function fetchSecurely(url: URL): Promise<Response> {
  let target = url
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const headers = { 'accept-encoding': 'identity' }
    const reply = await fetch(target, { redirect: 'manual', headers }).catch(() => null)
    const location = reply?.headers.get('location')
    if (reply?.ok) return reply
    if (!reply || reply.status < 300 || reply.status > 399 || !location) {
      throw new UsageError(
        `${redactSource(target.href)} cannot be fetched (${reply?.status ?? 'no response, or an untrusted certificate'}).`,
      )
    }
    target = parseReleaseUrl(new URL(location, target).href) as URL
  }
  throw new UsageError(`${redactSource(url.href)} cannot be fetched: it redirects too often.`)
}

async function readNextTo(source: string, url: URL | null, name: string): Promise<Buffer> {
  if (url) return readAtMost(await fetchSecurely(new URL(name, url)), name)
  const file = Bun.file(join(dirname(source), name))
  if (await file.exists()) return readAtMost(new Response(file), name)
  throw new UsageError(
    `There is no ${name} next to ${redactSource(source)}: add --unsigned to install a file that you have verified yourself.`,
  )
}

async function readAtMost(response: Response, name: string): Promise<Buffer> {
  const bytes = await readBytesCapped(response, MAX_SUMS_BYTES)
  if (bytes !== null) return bytes
  throw new UsageError(`${name} of the release is too large to be valid: nothing was changed.`)
}
