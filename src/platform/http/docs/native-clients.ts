import { join } from 'node:path'
import { type Context, Elysia } from 'elysia'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { notFound } from '../../../lib/errors.ts'
import { assetPath } from '../../../lib/files/asset-path.ts'
import { VERSION } from '../../../version.ts'
import { hidden } from '../replies/envelope.ts'
import { sendPublic } from '../replies/replies.ts'

/** The clients for Swift and Kotlin, each with its models. They are stored with gzip. */
export const NATIVE_FILES = [
  'Homeport.swift',
  'HomeportModels.swift',
  'Homeport.kt',
  'HomeportModels.kt',
]

/** `/client/Homeport.swift` and so on: the first line of each file names the server's version. */
export function nativeClients() {
  const cached = new Map<string, { body: string; etag: string }>()
  return new Elysia({ name: 'native-clients' }).get('/client/:file', send, hidden)

  async function send({ params, request, set }: Context<{ params: { file: string } }>) {
    const reply = cached.get(params.file) ?? (await read(params.file))
    const headers = {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, no-cache',
      'content-disposition': `inline; filename="${params.file}"`,
    }
    return sendPublic(reply, { request, set }, 0, { headers })
  }

  async function read(name: string) {
    const file = Bun.file(join(assetPath('native'), `${name}.gz`))
    // It is missing only from source, before `bun run build`.
    if (!NATIVE_FILES.includes(name) || !(await file.exists())) throw notFound()
    const source = new TextDecoder().decode(Bun.gunzipSync(await file.arrayBuffer()))
    const body = `// Homeport ${VERSION}: ${name}, as the server has it at /client/${name}.\n${source}`
    const found = { body, etag: `"${sha256(body)}"` }
    cached.set(name, found)
    return found
  }
}
