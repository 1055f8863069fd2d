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

  /**
   * The object assembled from the parts listed in `body`, and its ETag; null if one of them was not stored. With KMS, every
   * part has the ETag `kmsEtag`.
   */
  function complete(id: string, body: string, kmsEtag: string | null) {
    const upload = uploads.get(id)
    const listed = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"([^"]*)"<\/ETag>/g)]
    const parts = listed.map(([, number, etag]) => ({
      etag,
      bytes: upload?.parts.get(Number(number)),
    }))
    if (!upload || parts.length === 0) return null
    if (parts.some((part) => !matchesStoredPart(part, kmsEtag))) return null
    const stored = parts.map(({ bytes }) => bytes as Buffer)
    const hash = createHash('md5')
    for (const bytes of stored) hash.update(createHash('md5').update(bytes).digest())
    uploads.delete(id)
    const etag = `${kmsEtag ?? hash.digest('hex')}-${stored.length}`
    return { bytes: Buffer.concat(stored), etag }
  }

  type Part = { etag: string | undefined; bytes: Buffer | undefined }
  function matchesStoredPart({ etag, bytes }: Part, kmsEtag: string | null): boolean {
    if (bytes === undefined) return false
    return etag === (kmsEtag ?? createHash('md5').update(bytes).digest('hex'))
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
