import type { S3Client } from './client.ts'
import { StoreError } from './fault.ts'
import { storeUnavailable } from './requests.ts'

/**
 * Uploads in parts of `partBytes`, with one in memory, under an unused key. A failure leaves neither an object nor
 * parts. `beforeEnd` may throw to refuse the key.
 */
export async function uploadInParts(
  client: S3Client,
  key: string,
  content: AsyncIterable<Uint8Array>,
  partBytes: number,
  beforeEnd: () => Promise<void>,
): Promise<number> {
  const uploadId = readText('UploadId', await client.call('POST', key, { uploads: '' }, ''))
  const etags: string[] = []
  let bytes = 0
  let mayExist = false
  try {
    for await (const part of splitIntoParts(content, partBytes)) {
      const partNumber = String(etags.length + 1)
      etags.push(await client.putPart(key, part, { partNumber, uploadId }))
      bytes += part.size
    }
    await beforeEnd()
    mayExist = true
    await complete(client, key, uploadId, etags, bytes)
    return bytes
  } catch (error) {
    await client.call('DELETE', key, { uploadId }).catch(() => {})
    if (mayExist) await client.remove(key).catch(() => {})
    throw error
  }
}

/** Excludes uploads in folders below `start`. */
export async function listUnfinishedUploads(client: S3Client, start: string) {
  const [, ...entries] = (await client.listUploads(start)).split('<Upload>')
  return entries.map((entry) => ({
    key: readText('Key', entry).replace(/^.*\//, ''),
    uploadId: readText('UploadId', entry),
    begunAt: new Date(readText('Initiated', entry)),
  }))
}

/** Joins the parts, and checks that the store has joined them: its response may be lost or wrong. */
async function complete(
  client: S3Client,
  key: string,
  uploadId: string,
  etags: string[],
  bytes: number,
) {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`,
  )
  const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const hash = new Bun.CryptoHasher('md5')
  for (const etag of etags) hash.update(Buffer.from(etag, 'hex'))
  const expected = `${hash.digest('hex')}-${etags.length}`
  const reply = await client.call('POST', key, { uploadId }, body).catch((error: Error) => error)
  const failure = reply instanceof Error ? reply : null
  // A store that encrypts with its own keys returns another ETag, which the object must then have.
  const etag = reply instanceof Error ? expected : readText('ETag', reply).toLowerCase()
  if (failure === null && etag === expected) return
  const stored = await client.head(key).catch(() => null)
  if (etag !== '' && stored?.size === bytes && stored.etag === etag) return
  if (failure !== null) throw failure
  const message = `S3 reported success for POST ${key}, but does not have the object`
  throw storeUnavailable(new StoreError(message, false))
}

async function* splitIntoParts(
  content: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Blob> {
  let chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of content) {
    let rest = chunk
    while (bytes + rest.byteLength >= size) {
      const end = size - bytes
      yield new Blob([...chunks, rest.subarray(0, end)] as Uint8Array<ArrayBuffer>[])
      rest = rest.subarray(end)
      chunks = []
      bytes = 0
    }
    chunks.push(rest)
    bytes += rest.byteLength
  }
  if (bytes > 0) yield new Blob(chunks as Uint8Array<ArrayBuffer>[])
}

/** Without the quotes of an ETag. */
function readText(name: string, xml: string): string {
  const [, text = ''] = new RegExp(`<${name}>([^<]*)<`).exec(xml) ?? []
  return text.replace(/&quot;|&#34;|"/g, '').trim()
}
