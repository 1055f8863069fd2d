import type { UrlSigner } from './signed-url.ts'

export type FileUrls = ReturnType<typeof createFileUrls>

/**
 * Where files are served: public ones for ever, under `publicUrl` where a CDN fetches them from us, private ones under
 * a signature that expires.
 */
export function createFileUrls({ sign, verify }: UrlSigner, publicUrl: string | null = null) {
  return { of, isSigned: verify }

  /** The URL of a file, under `baseUrl`, and when it ends; null for never. */
  function of(
    { key, type }: { key: string; type: string },
    baseUrl: string,
  ): { url: string; expiresAt: string | null } {
    const path = `/files/${key}`
    if (type === 'publicAsset') return { url: (publicUrl ?? baseUrl) + path, expiresAt: null }
    const { query, expiresAt } = sign(key)
    return { url: `${baseUrl}${path}?${query}`, expiresAt: expiresAt.toISOString() }
  }
}
