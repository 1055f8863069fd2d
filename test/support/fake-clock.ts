import { readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The library of Debian's package `libfaketime`, or null if it is not installed. */
export const FAKETIME = await findFaketime()

/** A fake clock for one program, set by its offset: `+1d`, or `-60` for seconds. */
export function fakeClock(folder: string) {
  const file = join(folder, 'clock')
  const environment = {
    LD_PRELOAD: FAKETIME ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  return { environment, set, [Symbol.asyncDispose]: () => set('+0') }

  async function set(offset: string) {
    // The library aborts a program that reads a half-written file.
    await writeFile(`${file}.new`, `${offset}\n`)
    await rename(`${file}.new`, file)
  }
}

async function findFaketime(): Promise<string | null> {
  for (const name of await readdir('/usr/lib').catch(() => [])) {
    const path = `/usr/lib/${name}/faketime/libfaketimeMT.so.1`
    if (await Bun.file(path).exists()) return path
  }
  return null
}
