import { ApiError } from './api-error.ts'
import type { Transmit } from './transmit.ts'
import { createPlainTransport, type Send } from './transport.ts'

type TransportOptions = { baseUrl: string; env: string; pinnedKeys?: string[] | null | undefined }

/** Plain for the `env` `test`. What seals is loaded with the first request that needs it. */
export function openTransport(
  { baseUrl, env, pinnedKeys = null }: TransportOptions,
  transmit: Transmit,
  now: () => number,
): Send {
  checkSealing(env, pinnedKeys)
  if (env === 'test') return createPlainTransport(baseUrl, transmit)
  let loading: Promise<Send> | null = null
  return async (request) => {
    loading ??= import('./sealed-transport.ts').then(
      ({ createSealedTransport }) =>
        createSealedTransport({ baseUrl, env, pinnedKeys, transmit, now }),
      (cause) => {
        loading = null
        const message = 'The part of the app that encrypts cannot be loaded.'
        throw new ApiError({ status: 0, code: 'network_error', message, cause })
      },
    )
    return (await loading)(request)
  }
}

/** What is meant to be sealed must not go out plain by a mistake. */
function checkSealing(env: string, pinnedKeys: string[] | null) {
  if (env === 'test' && pinnedKeys !== null) {
    throw new TypeError('pinnedKeys does nothing without an env, such as production, that seals.')
  }
  if (env !== 'test' && globalThis.crypto?.subtle === undefined) {
    throw new TypeError(
      'Sealing needs WebCrypto: browsers have it on https pages, React Native by a package.',
    )
  }
}

/** Without slashes at its end. */
export function addressOf(baseUrl: string): string {
  if (/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(
    `baseUrl must be an address such as https://api.example.com, without spaces or a query; it is "${baseUrl}".`,
  )
}
