import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { prepareSwift } from './swift.ts'

/** As in `swift.ts`. */
const ROOT = process.env['SWIFT_ROOT'] ?? join(tmpdir(), 'homeport-swift')

const OPENSSL_MODULE = `module COpenSSL {
${['evp', 'ec', 'ecdsa', 'ecdh', 'sha'].map((name) => `  header "/usr/include/openssl/${name}.h"`).join('\n')}
}
`

/** A directory of the tree with the compiler, in which sources are checked but no program is made. */
export async function createSwiftCheck() {
  await prepareSwift()
  const name = `/build/${Bun.randomUUIDv7()}`
  const path = join(ROOT, name)
  await mkdir(join(path, 'openssl'), { recursive: true })
  await writeFile(join(path, 'openssl/module.modulemap'), OPENSSL_MODULE)
  return {
    path,
    add,
    swiftc,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }

  /** Copies sources into it. Returns their names there. */
  function add(...sources: string[]): Promise<string[]> {
    const copy = async (source: string) => {
      await copyFile(source, join(path, basename(source)))
      return basename(source)
    }
    return Promise.all(sources.map(copy))
  }

  /** The compiler needs `/proc`, which only its own mount namespace has there. Throws its whole output if it fails. */
  async function swiftc(...args: string[]) {
    await writeFile(join(path, 'args'), args.join('\n'))
    const compile =
      'LD_LIBRARY_PATH=/usr/libexec/swift/lib/swift/linux exec swiftc -I . -I openssl @args'
    const script = `mount --bind /proc "$0/proc" && exec chroot "$0" /bin/sh -c 'cd "$0" && ${compile}' "$1"`
    const program = Bun.spawn(['unshare', '--mount', 'sh', '-c', script, ROOT, name], {
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const streams = [program.stdout, program.stderr].map((stream) => new Response(stream).text())
    const output = (await Promise.all(streams)).join('\n')
    if ((await program.exited) !== 0) throw new Error(`swiftc ${args.join(' ')}:\n${output}`)
  }
}
