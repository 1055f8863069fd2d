import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Config } from '../../config/config.ts'
import { createFeeds } from '../../features/rates/providers.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { explainSmtpError, findEhloName, trySmtp } from '../../platform/outbox/mailer.ts'
import { describeInvalidity } from '../tls/certificate.ts'
import { loadCertificate } from '../tls/tls.ts'
import { checkAppLinks, hasAppLinks } from './app-link-check.ts'
import { type Check, failed, ok, toReason, warning } from './check.ts'
import { checkOpenId } from './openid-check.ts'
import type { ServerState } from './server-state.ts'

const TIMEOUT_MS = 10_000
/** Codes from authenticator apps are valid for 30 seconds. */
const CLOCK_TOLERANCE_MS = 20_000
const EXPIRES_SOON_MS = 14 * DAY_MS

export function networkChecks(config: Config, state: ServerState | null): Check[] {
  const { baseUrl, smtpUrl, rcApiUrl, rcApiKey, oidcIssuer } = config
  const feeds = createFeeds(config)
  const [feed] = feeds
  return [
    { name: 'mail', run: mail },
    { name: 'rates', run: rates },
    { name: 'clock', run: clock },
    { name: 'billing', run: billing },
    ...(oidcIssuer === null ? [] : [{ name: 'openid', run: () => checkOpenId(oidcIssuer) }]),
    { name: 'address', run: address },
    { name: 'certificate', run: certificate },
    ...(baseUrl?.startsWith('https:') && hasAppLinks(config)
      ? [{ name: 'app links', run: () => checkAppLinks(config) }]
      : []),
  ]

  async function mail() {
    if (smtpUrl === null)
      return warning(
        'SMTP_URL is not set',
        'Set SMTP_URL and MAIL_FROM, or e-mails are only written to files.',
      )
    const { host } = new URL(smtpUrl)
    return trySmtp(smtpUrl, undefined, findEhloName(baseUrl)).then(
      () => ok(`${host} accepts e-mails`),
      (error) => {
        const [why = '', advice = ''] = explainSmtpError(error)
        return failed(`${host} does not accept e-mails (${why})`, advice)
      },
    )
  }

  async function rates() {
    if (feed === undefined) return ok('off')
    for (const { url } of feeds) {
      const { host } = new URL(url)
      const reply = await fetchWithTimeout(url).catch(toReason)
      if (typeof reply === 'string')
        return failed(`${host} does not respond (${reply})`, CHECK_NETWORK)
      if (reply.status !== 200)
        return failed(`${host} answers ${reply.status}`, 'Check RATES_URL and RATES_API_KEY.')
    }
    const hosts = feeds.map(({ url }) => new URL(url).host).join(', ')
    const answer = feeds.length === 1 ? `${hosts} answers` : `${hosts} answer`
    const unconverted = state?.unconverted ?? []
    if (unconverted.length === 0) return ok(answer)
    return warning(
      `${answer}, without rates for payments in ${unconverted.join(', ')}`,
      'The business figures leave these payments out: set RATES_PROVIDER=ecb,open-er-api.',
    )
  }

  /** Compares with the clock of a server that another check contacts anyway. */
  async function clock() {
    const before = Date.now()
    const reply = await fetchWithTimeout(feed?.url ?? rcApiUrl).catch(() => null)
    const serverTime = Date.parse(reply?.headers.get('date') ?? '')
    if (Number.isNaN(serverTime))
      return warning('could not be checked: no server answers', CHECK_NETWORK)
    const off = Math.round(((before + Date.now()) / 2 - serverTime) / 1000)
    return Math.abs(off * 1000) < CLOCK_TOLERANCE_MS
      ? ok('accurate')
      : failed(`${off} s off`, 'Synchronize it: "timedatectl set-ntp true".')
  }

  async function billing() {
    if (rcApiKey === null) return ok('skipped: RC_API_KEY is not set')
    const { host } = new URL(rcApiUrl)
    // Without a path: requesting a customer would create one.
    return fetchWithTimeout(rcApiUrl).then(
      () => ok(`${host} answers`),
      (error) => failed(`${host} does not respond (${toReason(error)})`, CHECK_NETWORK),
    )
  }

  async function address() {
    if (baseUrl === null) return warning('BASE_URL is not set', 'Set BASE_URL or TLS_DOMAINS.')
    const { hostname } = new URL(baseUrl)
    const found = await lookup(hostname, { all: true }).catch(() => [])
    if (found.length === 0) {
      return failed(`${hostname} does not resolve`, 'Add an A or AAAA record for this machine.')
    }
    if (config.host === '0.0.0.0' && config.isTls && found.some(({ family }) => family === 6)) {
      return failed(
        `${hostname} has an AAAA record, but HOST 0.0.0.0 accepts only IPv4`,
        'Unset HOST, or remove the record: certificate authorities and many clients connect over IPv6.',
      )
    }
    const reply = await fetchWithTimeout(`${baseUrl}/health`).catch(toReason)
    if (typeof reply !== 'string' && reply.status === 200) return ok(`${baseUrl} answers`)
    const why = typeof reply === 'string' ? reply : reply.status
    return failed(
      `${baseUrl}/health does not respond (${why}) at ${found.map(({ address }) => address)}`,
      'Check the DNS record, the firewall and the proxy.',
    )
  }

  async function certificate() {
    const own = config.isTls ? await loadCertificate(config).catch((error: Error) => error) : null
    if (own instanceof Error)
      return failed(own.message, 'Store the certificate and its matching key there, both in PEM.')
    const invalidity = own && describeInvalidity(own, new Date())
    if (invalidity) return failed(invalidity, 'Renew it, and check the clock of this machine.')
    if (state?.ready.certificate === 'failing') {
      return failed('cannot be renewed', "See the server's log.")
    }
    if (!baseUrl?.startsWith('https:')) {
      return warning('BASE_URL is not https', 'Apps and the billing provider need https.')
    }
    const until = await certificateExpiry(new URL(baseUrl)).catch(toReason)
    if (typeof until === 'string') {
      return /CERT|SIGNED|ISSUER|ALTNAME/i.test(until)
        ? failed(`is not valid (${until})`, 'See the log of the program that renews it.')
        : warning(`could not be checked (${until})`, 'First fix what the "address" check reports.')
    }
    const text = `valid until ${until.toISOString().slice(0, 10)}`
    const endsSoon = until.getTime() - Date.now() < EXPIRES_SOON_MS
    return endsSoon ? warning(text, 'It should have been renewed by now: see the log.') : ok(text)
  }
}

const CHECK_NETWORK = 'Check the DNS servers and the firewall of this machine.'

function fetchWithTimeout(url: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
}

function certificateExpiry({ hostname, port }: URL): Promise<Date> {
  const { promise, resolve, reject } = Promise.withResolvers<Date>()
  const host = hostname.replace(/^\[|\]$/g, '')
  // SNI allows only names, not addresses (RFC 6066).
  const servername = isIP(host) ? '' : host
  const options = { host, port: Number(port || 443), servername }
  const socket = connect(options, () => {
    resolve(new Date(socket.getPeerCertificate().valid_to))
    socket.end()
  })
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')))
  socket.on('error', reject)
  return promise
}
