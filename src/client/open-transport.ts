import type { Transmit } from './fetch.ts'
import { createPart } from './part.ts'
import { createPlainTransport, type Send } from './transport.ts'

type TransportOptions = { baseUrl: string; env: string; pinnedKeys?: string[] | null | undefined }

/** Opens a plain transport if `env` is `test`, otherwise the sealing one, which is loaded at first use. */
export function openTransport(
  { baseUrl, env, pinnedKeys = null }: TransportOptions,
  transmit: Transmit,
  now: () => number,
): Send {
  checkSealing(env, pinnedKeys)
  if (env === 'test') return createPlainTransport(baseUrl, transmit)
  const sealedTransport = createPart(async () => {
    const { createSealedTransport } = await import('./sealed-transport.ts')
    return createSealedTransport({ baseUrl, env, pinnedKeys, transmit, now })
  })
  return async (request) => (await sealedTransport())(request)
}

/** A mistake in the configuration must not send requests unsealed. */
function checkSealing(env: string, pinnedKeys: string[] | null) {
  if (env === 'test' && pinnedKeys !== null) {
    throw new TypeError('pinnedKeys has no effect without an env that seals, such as production.')
  }
  if (env !== 'test' && globalThis.crypto?.subtle === undefined) {
    throw new TypeError(
      'Sealing needs WebCrypto: browsers provide it on https pages, React Native through a package.',
    )
  }
}

/** Checks the base URL and removes trailing slashes. */
export function normalizeBaseUrl(baseUrl: string): string {
  if (/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(
    `baseUrl must be a URL such as https://api.example.com, without spaces or a query; it is "${baseUrl}".`,
  )
}
