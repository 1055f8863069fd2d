import type { UrlSigner } from './signed-url.ts'

export type FileUrls = ReturnType<typeof createFileUrls>

/** Permanent for public files, under `publicUrl` if a CDN serves them; signed with an expiry for private ones. */
export function createFileUrls({ sign, verify }: UrlSigner, publicUrl: string | null = null) {
  return { linkTo, isSigned: verify }

  /** `expiresAt` is null if the URL never expires. */
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
