import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, installExecutable } from './executable.ts'

const ROOT = join(import.meta.dir, '..', '..')
const WALK = /```sh walk\n(.*?)```/s
/** The executable as the manual writes it. */
export const HOMEPORT = '"$HOMEPORT/dist/homeport"'

type WalkOptions = {
  /** The variable that sets the port of the store's fake, and the port in the manual. */
  storePort: [name: string, inManual: number]
  /** The file that the commands leave at the root of the project. */
  settingsFile: string
}

/** The commands of a page of the manual, such as `app-store.md`. */
export async function readWalk(page: string): Promise<string> {
  const manual = await Bun.file(join(ROOT, 'docs', page)).text()
  return WALK.exec(manual)?.[1] ?? ''
}

/** Runs a walk in an empty folder, with free ports. `text` is its output. */
export async function runWalk(walk: string, { storePort, settingsFile }: WalkOptions) {
  await using homeport = await installExecutable()
  const [port, freeStorePort] = [freePort(), freePort()]
  const [name, inManual] = storePort
  const commands = walk
    .replaceAll(HOMEPORT, join(homeport.folder, 'homeport'))
    .replaceAll(':3000', `:${port}`)
    .replaceAll(`:${inManual}`, `:${freeStorePort}`)
  const script = `trap 'kill $(jobs -p)' EXIT\n${commands}`
  const { stdout, stderr, exitCode } = Bun.spawnSync(['bash', '-c', script], {
    cwd: homeport.folder,
    env: {
      PATH: `${join(process.execPath, '..')}:${process.env['PATH']}`,
      HOMEPORT: ROOT,
      HOMEPORT_URL: `http://localhost:${port}`,
      PORT: String(port),
      [name]: String(freeStorePort),
      DATA_DIR: join(homeport.folder, 'data'),
    },
  })
  await rm(join(ROOT, settingsFile), { force: true })
  return { text: `${stdout}${stderr}`, exitCode }
}
