import type { Config } from '../../config/config.ts'
import { mailLinkPaths } from '../../features/users/feature.ts'
import { fetchBounded, readTextCapped } from '../../lib/net/bounded-fetch.ts'
import { parseJson } from '../../lib/text/json.ts'
import { ORIGINS_FILE, passkeyRelyingParty, wellKnownFiles } from '../../platform/app-links.ts'
import { publicUrl } from '../../platform/public-url.ts'
import { type Finding, failed, ok, toReason, warning } from './check.ts'

const TIMEOUT_MS = 10_000
/** Apple does not read larger files. */
const MAX_FILE_BYTES = 128 * 1024

/** Whether this server has files for phones and browsers under `/.well-known`. */
export function hasAppLinks(config: Config): boolean {
  return Object.keys(wellKnownFiles(config, [])).length > 0
}

export async function checkAppLinks(config: Config): Promise<Finding> {
  const here = publicUrl(config)
  const { rpId } = passkeyRelyingParty(config)
  const relyingParty = rpId === new URL(here).hostname ? here : `https://${rpId}`
  const urls: string[] = []
  for (const [path, content] of Object.entries(wellKnownFiles(config, mailLinkPaths(config)))) {
    const hosts = path === ORIGINS_FILE ? [relyingParty] : new Set([here, relyingParty])
    for (const host of hosts) {
      const finding = await compare(host + path, content)
      if (finding !== null) return finding
      urls.push(host + path)
    }
  }
  return ok(urls.join(', '))
}

/** Null when the URL has the content. */
async function compare(url: string, content: object): Promise<Finding | null> {
  const reply = await fetchBounded(url, { redirect: 'manual', timeoutMs: TIMEOUT_MS }).catch(
    toReason,
  )
  if (typeof reply === 'string') return failed(`${url} does not respond (${reply})`, FORWARD)
  const isRedirect = reply.status >= 300 && reply.status < 400
  if (isRedirect) return failed(`${url} redirects, which phones do not follow`, FORWARD)
  if (reply.status !== 200) return failed(`${url} answers ${reply.status}`, FORWARD)
  const type = reply.headers.get('content-type') ?? 'no type'
  if (!/^application\/json\b/.test(type)) {
    return failed(`${url} has the type ${type} instead of application/json`, FORWARD)
  }
  const text = await readTextCapped(reply, MAX_FILE_BYTES).catch(() => null)
  return text !== null && Bun.deepEquals(parseJson(text), content)
    ? null
    : warning(
        `${url} is not the file of this server`,
        'Restart the server after a change to the settings. On another host, copy the file from here.',
      )
}

const FORWARD =
  'Let the proxy forward /.well-known to Homeport. If another server has this host, copy the file from here.'
