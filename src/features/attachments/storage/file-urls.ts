import type { UrlSigner } from './signed-url.ts'

export type FileUrls = ReturnType<typeof createFileUrls>

/** Where files are served: public ones for ever, private ones under a signature that expires. */
export function createFileUrls({ sign, verify }: UrlSigner) {
  return { of, isSigned: verify }

  /** The URL of a file, under `baseUrl`, and when it ends; null for never. */
  function of(
    { key, type }: { key: string; type: string },
    baseUrl: string,
  ): { url: string; expiresAt: string | null } {
    const path = `${baseUrl}/files/${key}`
    if (type === 'publicAsset') return { url: path, expiresAt: null }
    const { query, expiresAt } = sign(key)
    return { url: `${path}?${query}`, expiresAt: expiresAt.toISOString() }
  }
}
