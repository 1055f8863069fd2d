import { join } from 'node:path'
import { benchAppStore } from './bench/app-store.ts'
import { benchPlayStore } from './bench/play-store.ts'

export async function bench(folder: string, makeData: (dataDir: string) => Promise<string>) {
  await benchAppStore(join(folder, 'app-store'))
  const dataDir = join(folder, 'play-store')
  await benchPlayStore(dataDir, await makeData(dataDir))
}
