import { flag, integer, listKind, path, port, setting, text, value } from '../setting.ts'
import {
  externalUrl,
  host,
  isClientOrigin,
  isHostName,
  isNetwork,
  list,
  origin,
} from '../values.ts'

export const EXTERNAL_URL = 'an https URL (http on loopback)'
export const ORIGIN = 'an http or https URL without a path'
export const NETWORKS = 'IP addresses or networks'
export const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

export const networkSettings = {
  port: setting('PORT', port, 'the port to listen on', { shown: '3000; 443 with TLS' }),
  host: setting(
    'HOST',
    value('an IP address, a host name, or a socket such as unix:/run/homeport/homeport.sock', host),
    'the address to listen on, or a socket for a proxy: `unix:/run/homeport/homeport.sock`',
    {
      shown: '`::` for IPv4 and IPv6; `0.0.0.0` without IPv6',
      page: 'deployment.md#over-a-socket',
    },
  ),
  keepAliveSeconds: setting(
    'KEEP_ALIVE_SECONDS',
    integer(5, 240, 150),
    'how long idle connections stay open, in seconds; must exceed the limit of a proxy in front of the server',
  ),
  baseUrl: setting(
    'BASE_URL',
    value(ORIGIN, origin),
    'the public URL: the base of file URLs and of links in e-mails',
    {
      shown:
        'the first of `TLS_DOMAINS`; without it, file URLs use the request’s host, and links point to localhost',
    },
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    listKind(NETWORKS, isNetwork),
    'proxies whose `X-Forwarded-For` and `COUNTRY_HEADER` are trusted: `127.0.0.1` for one on this machine',
    { page: 'deployment.md' },
  ),
  countryHeader: setting(
    'COUNTRY_HEADER',
    text('the name of a header such as CF-IPCountry', /^[\w-]{1,64}$/),
    'the header in which a trusted proxy names the client’s country',
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    listKind('origins such as https://app.example.com without wildcards', isClientOrigin),
    'the origins of web clients: `https://app.example.com`',
  ),
  rateLimits: setting(
    'RATE_LIMITS',
    flag(true),
    '`off` for load tests behind your own rate limiter',
  ),
  tlsDomains: setting(
    'TLS_DOMAINS',
    value(
      'host names without wildcards, separated by commas',
      (given) => list(given.toLowerCase(), isHostName),
      [],
    ),
    'serve HTTPS for these names, with automatic certificates from Let’s Encrypt',
    { shown: 'unset: plain HTTP', page: 'deployment.md' },
  ),
  tlsCert: setting(
    'TLS_CERT',
    path,
    'the file of your own certificate; a replacement is picked up within seconds',
  ),
  tlsKey: setting('TLS_KEY', path, 'the file of its key'),
  httpPort: setting(
    'HTTP_PORT',
    port,
    'the port that answers the certificate authority and redirects to HTTPS',
    { shown: '80 with `TLS_DOMAINS`' },
  ),
  acmeUrl: setting(
    'ACME_URL',
    value(EXTERNAL_URL, externalUrl, LETS_ENCRYPT),
    'the directory URL of another certificate authority',
    { shown: 'Let’s Encrypt' },
  ),
}
