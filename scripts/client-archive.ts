import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { packTar } from 'modern-tar'
import { NATIVE_FILES } from '../src/platform/http/docs/native-clients.ts'
import type { PackageFiles } from './build-client.ts'
import { ROOT } from './root.ts'

/** The modification time that npm gives every file. */
const MODIFIED_AT = new Date('1985-10-26T08:15:00.000Z')

/** Packs a package as `npm pack` does: the same bytes for the same files. */
export async function packPackage(files: PackageFiles): Promise<Uint8Array<ArrayBuffer>> {
  const entries = [...files].toSorted().map(([path, body]) => ({
    header: { name: `package/${path}`, size: body.length, mode: 0o644, mtime: MODIFIED_AT },
    body,
  }))
  return Bun.gzipSync(new Uint8Array(await packTar(entries)), { level: 9 })
}

/** Replaces the file atomically, because a server might be reading it. */
export async function writeArchive(path: string, bytes: Uint8Array) {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.tmp`
  await Bun.write(temporary, bytes)
  await rename(temporary, path)
}

/** Writes the clients for Swift and Kotlin as the server reads them. */
export async function writeNativeClients(folder: string) {
  for (const name of NATIVE_FILES) {
    const source = await Bun.file(join(ROOT, 'src', 'client', 'native', name)).bytes()
    await writeArchive(join(folder, `${name}.gz`), Bun.gzipSync(source, { level: 9 }))
  }
}
