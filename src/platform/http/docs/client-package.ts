import { Elysia } from 'elysia'
import { sha512 } from '../../../lib/crypto/hash.ts'
import { notFound } from '../../../lib/errors.ts'
import { assetPath } from '../../../lib/files/asset-path.ts'
import { VERSION } from '../../../version.ts'
import { rawReply } from '../replies/raw-reply.ts'
import { etagMatches } from '../replies/replies.ts'

const CLIENT_PACKAGE_PATH = '/client.tgz'
export const CLIENT_PACKAGE_NAME = `homeport-client-${VERSION}.tgz`

type ClientPackage = {
  bytes: Uint8Array<ArrayBuffer>
  /** As in npm's lockfile: `sha512-…`. */
  integrity: string
}

/** The client package of this version; null if it is not built, which happens only from source. */
export async function readClientPackage(): Promise<ClientPackage | null> {
  const file = Bun.file(assetPath('client.tgz'))
  if (!(await file.exists())) return null
  const bytes = new Uint8Array(await file.arrayBuffer())
  return { bytes, integrity: `sha512-${sha512(bytes)}` }
}

/** The sentence of the API reference that says how to install the package; empty if there is none. */
export async function describeClientPackage(baseUrl: string): Promise<string> {
  const found = await readClientPackage()
  return found === null
    ? ''
    : `

Apps in TypeScript or JavaScript use the client of this version: \`npm install ${baseUrl}${CLIENT_PACKAGE_PATH}\`. Its integrity is \`${found.integrity}\`.`
}

/** `/client.tgz`: the client package, which npm installs from this URL. */
export function clientPackage() {
  let cached: ClientPackage | null = null
  return new Elysia({ name: 'client-package' }).get(
    CLIENT_PACKAGE_PATH,
    async ({ request, set }) => {
      cached ??= await readClientPackage()
      if (cached === null) throw notFound()
      const etag = `"${cached.integrity}"`
      const headers = {
        'content-type': 'application/gzip',
        'content-disposition': `attachment; filename="${CLIENT_PACKAGE_NAME}"`,
        'cache-control': 'public, no-cache',
        etag,
      }
      return etagMatches(request.headers.get('if-none-match'), etag)
        ? rawReply(set, null, headers, 304)
        : rawReply(set, new Blob([cached.bytes]), headers)
    },
    { detail: { hide: true } },
  )
}
