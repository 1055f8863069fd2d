import { chmod, open, rm, stat } from 'node:fs/promises'
import { UsageError } from '../../lib/command.ts'
import { createProgress } from '../terminal.ts'
import { fetchSecurely, parseReleaseUrl, redactSource } from './release.ts'

/** The output of `homeport version --json`. */
type ExecutableInfo = { version: string; date: string | null; schemaVersion: number }

const MAX_BYTES = 1024 ** 3

/** Copies an executable to `target` and returns its SHA-256. Throws `UsageError` unless it matches all `expected` sums. */
export async function fetchExecutable(
  source: string,
  target: string,
  expected: string[],
): Promise<string> {
  using progress = createProgress()
  const url = parseReleaseUrl(source)
  const { content, size } = url ? await download(url) : await openFile(source)
  const hasher = new Bun.CryptoHasher('sha256')
  await rm(target, { force: true })
  await using file = await open(target, 'wx', 0o600)
  let done = 0
  for await (const chunk of content) {
    hasher.update(chunk)
    await file.writeFile(chunk)
    done += chunk.byteLength
    if (done > MAX_BYTES)
      throw new UsageError(`${redactSource(source)} is too large to be a homeport executable.`)
    progress.show('Fetching', done, size)
  }
  await file.sync()
  const found = hasher.digest('hex')
  if (expected.some((sum) => sum.toLowerCase() !== found)) {
    throw new UsageError(
      `The SHA-256 of ${redactSource(source)} is ${found}, which does not match the expected one.`,
    )
  }
  await chmod(target, 0o755)
  return found
}

/** Throws `UsageError` if `source` is the file that an upgrade overwrites and deletes. */
export async function assertNotUpgradeTarget(source: string, target: string) {
  const [given, existing] = await Promise.all(
    [source, target].map((path) => stat(path).catch(() => null)),
  )
  if (given && existing && given.ino === existing.ino && given.dev === existing.dev)
    throw new UsageError(`${target} is reserved for the upgrade. Move your file to another path.`)
}

export function previousPath(executable: string): string {
  return `${executable}.previous`
}

/** Where the version before the previous one is kept during an upgrade, in case the upgrade fails. */
export function olderPath(executable: string): string {
  return `${previousPath(executable)}.old`
}

/** Asks an executable for its version. Throws `UsageError` when it does not run on this machine. */
export async function readExecutableInfo(path: string): Promise<ExecutableInfo> {
  try {
    const { stdout } = Bun.spawnSync([path, 'version', '--json'], { timeout: 30_000 })
    const { version, date = null, schemaVersion } = JSON.parse(stdout.toString())
    if (/^\d+\.\d+\.\d+/.test(version) && typeof schemaVersion === 'number')
      return { version, date, schemaVersion }
  } catch {
    // Reported below.
  }
  throw new UsageError(
    `The file is not a homeport executable for this machine: use the one for ${process.platform} on ${process.arch}.`,
  )
}

async function openFile(path: string) {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) throw new UsageError(`${path} cannot be read, or is not a file.`)
  return { content: Bun.file(path).stream(), size: found.size }
}

async function download(url: URL) {
  const reply = await fetchSecurely(url)
  if (!reply.body) throw new UsageError(`${redactSource(url.href)} is empty.`)
  return { content: reply.body, size: Number(reply.headers.get('content-length') ?? 0) }
}
