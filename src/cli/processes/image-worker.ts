import { loadImaging } from '../../features/attachments/images/image.ts'
import type {
  FromWorker,
  ToWorker,
} from '../../features/attachments/images/image-worker-process.ts'
import { EXIT } from '../../lib/command.ts'
import { setNativeDir } from '../../lib/files/native.ts'

/** The hidden command that processes images: jobs and results pass over IPC until the parent exits. */
export async function runImageWorker([nativeDir = '', dataOwner]: string[]) {
  process.on('disconnect', () => process.exit(0))
  // Jobs that arrive while the library loads must not be lost.
  const imaging = Promise.withResolvers<Awaited<ReturnType<typeof loadImaging>>>()
  process.on('message', async ({ job }: ToWorker) => {
    const makeImage = await imaging.promise
    process.send?.({ result: await makeImage(job) } satisfies FromWorker)
  })
  setNativeDir(nativeDir, Number(dataOwner ?? 0))
  const loaded = await loadImaging().catch((error: Error) => {
    const [, reason = error.message] = error.message.split('\n')
    console.error(`Images cannot be processed, is NATIVE_DIR on a noexec mount? ${reason}`)
    process.exit(EXIT.failed)
  })
  imaging.resolve(loaded)
}
