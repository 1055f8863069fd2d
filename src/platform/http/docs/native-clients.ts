import { join } from 'node:path'
import { type Context, Elysia } from 'elysia'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { notFound } from '../../../lib/errors.ts'
import { assetPath } from '../../../lib/files/asset-path.ts'
import { VERSION } from '../../../version.ts'
import { sendWithEtag } from './client-package.ts'

/** The clients for Swift and Kotlin, each with its models. They are stored with gzip. */
export const NATIVE_FILES = [
  'Homeport.swift',
  'HomeportModels.swift',
  'Homeport.kt',
  'HomeportModels.kt',
]

/** `/client/Homeport.swift` and so on: the first line of each file names the server's version. */
export function nativeClients() {
  const cached = new Map<string, { text: string; etag: string }>()
  return new Elysia({ name: 'native-clients' }).get('/client/:file', send, {
    detail: { hide: true },
  })

  async function send({ params, request, set }: Context<{ params: { file: string } }>) {
    const { text, etag } = cached.get(params.file) ?? (await read(params.file))
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `inline; filename="${params.file}"`,
    }
    return sendWithEtag({ request, set }, text, etag, headers)
  }

  async function read(name: string) {
    const file = Bun.file(join(assetPath('native'), `${name}.gz`))
    // It is missing only from source, before `bun run build`.
    if (!NATIVE_FILES.includes(name) || !(await file.exists())) throw notFound()
    const source = new TextDecoder().decode(Bun.gunzipSync(await file.arrayBuffer()))
    const text = `// Homeport ${VERSION}: ${name}, as the server has it at /client/${name}.\n${source}`
    const found = { text, etag: `"${sha256(text)}"` }
    cached.set(name, found)
    return found
  }
}
