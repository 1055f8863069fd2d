import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { packTar } from 'modern-tar'
import type { PackageFiles } from './build-client.ts'

/** npm gives every file this time. */
const MODIFIED_AT = new Date('1985-10-26T08:15:00.000Z')

/** Packs a package as `npm pack` does: the same bytes for the same files. */
export async function packPackage(files: PackageFiles): Promise<Uint8Array<ArrayBuffer>> {
  const entries = [...files].toSorted().map(([path, body]) => ({
    header: { name: `package/${path}`, size: body.length, mode: 0o644, mtime: MODIFIED_AT },
    body,
  }))
  return Bun.gzipSync(new Uint8Array(await packTar(entries)), { level: 9 })
}

/** Replaces the file at once: a server might be reading it. */
export async function writeArchive(path: string, bytes: Uint8Array) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.tmp`
  await Bun.write(temporary, bytes)
  await rename(temporary, path)
}
