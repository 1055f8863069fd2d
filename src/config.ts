import { isIP } from 'node:net'
import { resolve } from 'node:path'

export const RATES_PROVIDERS = ['ecb', 'frankfurter', 'openexchangerates', 'off'] as const
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const

/** What the operator chose. Paths are absolute, sizes in bytes. */
export type Config = ReturnType<typeof readConfig>

/** Every fault of the configuration in one message, which names variables and never their values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads and checks the whole environment (or `.env`, which Bun has read into it) at once. `flags` win. */
export function readConfig(flags: Record<string, string> = {}, environment = process.env) {
  const env: Record<string, string | undefined> = { ...environment, ...flags }
  const faults: string[] = []
  const config = {
    port: read('PORT', 3000, 'a port from 0 to 65535', (text) => wholeNumber(text, 65_535)),
    host: read('HOST', '0.0.0.0', 'an IP address or host name', (text) =>
      isIP(text) || /^[\w.-]{1,253}$/.test(text) ? text : undefined,
    ),
    dataDir: resolve(read('DATA_DIR', './data', 'a path', anyText)),
    nativeDir: read<string | null>('NATIVE_DIR', null, 'a path', (text) => resolve(text)),
    baseUrl: read<string | null>('BASE_URL', null, 'an http or https URL without a path', origin),
    tokenIssuer: read<string | null>('TOKEN_ISSUER', null, 'a name or URL', anyText),
    tokenAudience: read('TOKEN_AUDIENCE', 'homeport', 'a name or URL', anyText),
    webhookTokens: read<string[]>('WEBHOOK_TOKEN', [], 'one token, or two with a comma', (text) => {
      const tokens = text.split(',').map((token) => token.trim())
      return tokens.length <= 2 && tokens.every((token) => /^[\x21-\x7e]+$/.test(token))
        ? tokens
        : undefined
    }),
    ratesProvider: read('RATES_PROVIDER', 'ecb', `one of ${RATES_PROVIDERS.join(', ')}`, (text) =>
      oneOf(RATES_PROVIDERS, text),
    ),
    ratesUrl: read<string | null>('RATES_URL', null, 'an https URL (http on loopback)', ratesUrl),
    ratesApiKey: read<string | null>('RATES_API_KEY', null, 'a key', anyText),
    ratesBase: read('RATES_BASE', 'USD', 'an ISO 4217 code such as USD', (text) =>
      /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : undefined,
    ),
    passwordMinLength: read('PASSWORD_MIN_LENGTH', 8, 'a number from 8 to 256', (text) => {
      const length = wholeNumber(text, 256)
      return length !== undefined && length >= 8 ? length : undefined
    }),
    minFreeBytes: read('MIN_FREE_BYTES', 256 * 1024 * 1024, 'a number of bytes', (text) =>
      wholeNumber(text, Number.MAX_SAFE_INTEGER),
    ),
    logLevel: read('LOG_LEVEL', 'info', `one of ${LOG_LEVELS.join(', ')}`, (text) =>
      oneOf(LOG_LEVELS, text),
    ),
  }
  if (config.ratesProvider === 'openexchangerates' && config.ratesApiKey === null) {
    faults.push('RATES_API_KEY is needed by RATES_PROVIDER openexchangerates')
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return config

  function read<T>(
    name: string,
    fallback: T,
    expected: string,
    parse: (text: string) => T | undefined,
  ): T {
    const text = env[name]
    if (text === undefined) return fallback
    const value = text.trim() === '' ? undefined : parse(text.trim())
    if (value !== undefined) return value
    faults.push(`${name} must be ${expected}${text.trim() === '' ? ', it is empty' : ''}`)
    return fallback
  }
}

function anyText(text: string): string {
  return text
}

function oneOf<const T extends string>(choices: readonly T[], text: string): T | undefined {
  return choices.find((choice) => choice === text)
}

function wholeNumber(text: string, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return value <= most ? value : undefined
}

function origin(text: string): string | undefined {
  const url = URL.parse(text)
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/'
  return plain && url.username === '' && url.search === '' && url.hash === ''
    ? url.origin
    : undefined
}

/** Rates come over https; plain http only from this machine, where a test or a proxy stands. */
function ratesUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return url.href
  const loopback = url !== null && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  return loopback && url.protocol === 'http:' ? url.href : undefined
}
