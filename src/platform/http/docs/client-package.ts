import { type Context, Elysia } from 'elysia'
import { sha512 } from '../../../lib/crypto/hash.ts'
import { AppError, notFound } from '../../../lib/errors.ts'
import { assetPath } from '../../../lib/files/asset-path.ts'
import { VERSION } from '../../../version.ts'
import { hidden } from '../replies/envelope.ts'
import { sendPublic } from '../replies/replies.ts'

const CLIENT_PACKAGE_PATH = '/client.tgz'
/** Lockfiles that name this URL fail with a reason after an upgrade, not with another package. */
const VERSIONED_PATH = `/client-${VERSION}.tgz`
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

Apps in TypeScript or JavaScript keep the client of this version in their repository: \`curl -f --create-dirs -o vendor/${CLIENT_PACKAGE_NAME} ${baseUrl}${VERSIONED_PATH} && npm install ./vendor/${CLIENT_PACKAGE_NAME}\`. Its integrity is \`${found.integrity}\`.

Apps in Swift or Kotlin add two files: \`curl -fO ${baseUrl}/client/Homeport.swift -O ${baseUrl}/client/HomeportModels.swift\`, or those that end in \`.kt\`.`
}

/** The client package, which npm installs from either URL. The URL of another version returns 404 with the reason. */
export function clientPackage() {
  let cached: ClientPackage | null = null
  return new Elysia({ name: 'client-package' })
    .get(CLIENT_PACKAGE_PATH, send, hidden)
    .get(VERSIONED_PATH, send, hidden)
    .get(
      '/client-:file',
      () => {
        throw otherVersion()
      },
      hidden,
    )

  async function send({ request, set }: Context) {
    cached ??= await readClientPackage()
    if (cached === null) throw notFound()
    const reply = { body: cached.bytes, etag: `"${cached.integrity}"` }
    const headers = {
      'content-type': 'application/gzip',
      'cache-control': 'public, no-cache',
      'content-disposition': `attachment; filename="${CLIENT_PACKAGE_NAME}"`,
    }
    return sendPublic(reply, { request, set }, 0, { headers })
  }
}

function otherVersion(): AppError {
  return new AppError(
    'not_found',
    `This server has version ${VERSION} of the client: ${VERSIONED_PATH}. Keep the file of an older version in the app's repository.`,
  )
}
