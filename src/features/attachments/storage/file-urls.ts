import type { UrlSigner } from './signed-url.ts'

export type FileUrls = ReturnType<typeof createFileUrls>

/**
 * The URLs of files: permanent for public files, under `publicUrl` if a CDN serves them, and signed with an
 * expiry for private files.
 */
export function createFileUrls({ sign, verify }: UrlSigner, publicUrl: string | null = null) {
  return { linkTo, isSigned: verify }

  /** The URL of a file and when it expires; null for never. */
  function linkTo(
    { key, type }: { key: string; type: string },
    baseUrl: string,
  ): { url: string; expiresAt: string | null } {
    const path = `/files/${key}`
    if (type === 'publicAsset') return { url: (publicUrl ?? baseUrl) + path, expiresAt: null }
    const { query, expiresAt } = sign(key)
    return { url: `${baseUrl}${path}?${query}`, expiresAt: expiresAt.toISOString() }
  }
}
