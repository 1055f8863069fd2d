import { createHash } from 'node:crypto'

type Upload = { key: string; initiated: Date; parts: Map<number, Buffer> }

/** The multipart uploads of a store, by id. */
export function createMultipartUploads() {
  const uploads = new Map<string, Upload>()
  return { uploads, begin, complete, list }

  function begin(key: string): string {
    const id = crypto.randomUUID()
    uploads.set(id, { key, initiated: new Date(), parts: new Map() })
    return `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`
  }

  /** The object that the parts named in `body` form, and its ETag; null if one of them was not stored. `kms`: the ETag of parts. */
  function complete(id: string, body: string, kms: string | null) {
    const upload = uploads.get(id)
    const named = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"([^"]*)"<\/ETag>/g)]
    const parts = named.map(([, number, etag]) => ({
      etag,
      bytes: upload?.parts.get(Number(number)),
    }))
    if (!upload || parts.length === 0 || parts.some((part) => !isPart(part, kms))) return null
    const stored = parts.map(({ bytes }) => bytes as Buffer)
    const hash = createHash('md5')
    for (const bytes of stored) hash.update(createHash('md5').update(bytes).digest())
    uploads.delete(id)
    return { bytes: Buffer.concat(stored), etag: `${kms ?? hash.digest('hex')}-${stored.length}` }
  }

  type Part = { etag: string | undefined; bytes: Buffer | undefined }
  function isPart({ etag, bytes }: Part, kms: string | null): boolean {
    if (bytes === undefined) return false
    return etag === (kms ?? createHash('md5').update(bytes).digest('hex'))
  }

  function list(prefix: string): string {
    const found = [...uploads].filter(([, { key }]) => key.startsWith(prefix))
    const entries = found.map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    )
    return `<ListMultipartUploadsResult>${entries.join('')}</ListMultipartUploadsResult>`
  }
}
