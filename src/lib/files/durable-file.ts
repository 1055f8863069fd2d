import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Replaces a file so that a power cut leaves either the old or the new content, never part of it. */
export async function writeDurably(path: string, content: string | Uint8Array, mode = 0o600) {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    await withFile(temporary, 'w', mode, async (file) => {
      await file.writeFile(content)
      await file.sync()
    })
    await renameDurably(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Renames a synced file and syncs its directory, so that the new name survives a power cut. */
export async function renameDurably(from: string, to: string) {
  await rename(from, to)
  await syncPath(dirname(to))
}

/** Creates a directory and its missing parents, and syncs the parent of each new one. */
export async function makeFolder(path: string) {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await syncPath(dirname(made))
  }
}

/** The names in a directory, sorted; none if it does not exist. */
export async function readNames(path: string): Promise<string[]> {
  const names = await readdir(path).catch((error: { code?: string }) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  return names.toSorted()
}

/** fsync of a file or a directory. */
export async function syncPath(path: string) {
  await withFile(path, 'r', undefined, (file) => file.sync())
}

async function withFile<T>(
  path: string,
  flags: string,
  mode: number | undefined,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, flags, mode)
  try {
    return await addPathToErrors(path, () => use(file))
  } finally {
    await file.close()
  }
}

/** Adds the path to errors of an open file, which do not contain it. */
export async function addPathToErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, path: knownPath } = error as { code?: unknown; path?: unknown }
    const isOurs = typeof code === 'string' && knownPath === undefined
    throw isOurs ? Object.assign(error as Error, { path }) : error
  }
}
