import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** A Debian tree with Swift 6.0.3: 2.6 GB, created once in half a minute. `SWIFT_ROOT` names another directory for it. */
const ROOT = process.env['SWIFT_ROOT'] ?? join(tmpdir(), 'homeport-swift')
const PACKAGES = 'swiftlang,ca-certificates,libcurl4-openssl-dev,libxml2-dev,libssl-dev'
const SWIFT_LIBRARIES = 'usr/libexec/swift/lib/swift/linux'
const OPENSSL_MODULE = `module COpenSSL {
  header "/usr/include/openssl/evp.h"
  header "/usr/include/openssl/ec.h"
  header "/usr/include/openssl/ecdsa.h"
  header "/usr/include/openssl/ecdh.h"
  header "/usr/include/openssl/sha.h"
  link "crypto"
}
`

/** The requirement that this machine lacks; null if Swift programs can be compiled. */
export function missingForSwift(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root on Linux'
  return Bun.which('mmdebstrap') || hasRoot() ? null : 'mmdebstrap'
}

function hasRoot(): boolean {
  return Bun.spawnSync(['test', '-x', join(ROOT, 'usr/bin/swiftc')]).exitCode === 0
}

/** Makes the directory tree with the compiler, unless it exists. */
async function prepareSwift(): Promise<void> {
  if (hasRoot()) return
  const unfinished = `${ROOT}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(dirname(ROOT), { recursive: true })
  await run('mmdebstrap', '--variant=minbase', `--include=${PACKAGES}`, 'trixie', unfinished)
  await rm(ROOT, { recursive: true, force: true })
  await rename(unfinished, ROOT)
}

/**
 * Compiles a program from Swift files with all warnings as errors, and the module `Crypto` from `shim`. `language`: the
 * language mode. Returns the command that runs it, outside of the tree, so that it sees the same files.
 */
export async function compileSwift(
  sources: string[],
  shim: string,
  language: '5' | '6' = '6',
): Promise<string[]> {
  await prepareSwift()
  const texts = await Promise.all([...sources, shim].map((source) => Bun.file(source).text()))
  const folder = `build/${Bun.hash(language + texts.join('')).toString(36)}`
  const inside = (name: string) => join(ROOT, folder, name)
  const command = [...loader(), inside('program')]
  if (await Bun.file(inside('program')).exists()) return command
  await addOpenSsl(join(ROOT, folder))
  for (const source of [...sources, shim]) await copyFile(source, inside(basename(source)))
  const common = [
    '-swift-version',
    language,
    '-I',
    'openssl',
    '-module-cache-path',
    '/build/modules',
  ]
  const library = ['-emit-library', '-static', '-emit-module', '-parse-as-library', '-O']
  const options = ['-module-name', 'Crypto', '-suppress-warnings', '-o', 'libCrypto.a']
  await swiftc(folder, ...common, ...library, ...options, basename(shim))
  const checks = [
    '-warnings-as-errors',
    ...(language === '5' ? ['-strict-concurrency=complete'] : []),
  ]
  const linking = ['-I', '.', '-L', '.', '-lCrypto', '-lcrypto', '-o', 'program']
  const names = sources.map((source) => basename(source))
  await swiftc(folder, ...common, ...checks, '-parse-as-library', ...linking, ...names)
  return command
}

/** A directory of the tree with the compiler, in which sources are checked but no program is built. */
export async function createSwiftCheck() {
  await prepareSwift()
  const folder = `build/${Bun.randomUUIDv7()}`
  const path = join(ROOT, folder)
  await addOpenSsl(path)
  return {
    path,
    add,
    swiftc: (...args: string[]) => swiftc(folder, '-I', '.', '-I', 'openssl', ...args),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }

  /** Copies sources into the directory. Returns their names there. */
  function add(...sources: string[]): Promise<string[]> {
    const copy = async (source: string) => {
      await copyFile(source, join(path, basename(source)))
      return basename(source)
    }
    return Promise.all(sources.map(copy))
  }
}

async function addOpenSsl(path: string) {
  await mkdir(join(path, 'openssl'), { recursive: true })
  await writeFile(join(path, 'openssl/module.modulemap'), OPENSSL_MODULE)
}

/** Runs the compiler with the tree as its root, and `/proc`, which it needs, mounted in its own mount namespace. */
async function swiftc(folder: string, ...args: string[]) {
  const script = `mount --bind /proc "$0/proc" && exec chroot "$0" /bin/sh -c 'cd "$0" && exec swiftc "$@"' "$@"`
  const environment = ['env', `LD_LIBRARY_PATH=/${SWIFT_LIBRARIES}`]
  await run('unshare', '--mount', ...environment, 'sh', '-c', script, ROOT, `/${folder}`, ...args)
}

/** The tree's own loader finds the tree's libraries. */
function loader(): string[] {
  const architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const name = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2'
  const system = join(ROOT, 'usr/lib', `${architecture}-linux-gnu`)
  return [join(system, name), '--library-path', `${join(ROOT, SWIFT_LIBRARIES)}:${system}`]
}

/** Runs a command. Throws its whole output if it fails. */
async function run(...command: string[]) {
  const program = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' })
  const streams = [program.stdout, program.stderr].map((stream) => new Response(stream).text())
  const output = await Promise.all(streams)
  if ((await program.exited) !== 0) throw new Error(`${command.join(' ')}:\n${output.join('\n')}`)
}
