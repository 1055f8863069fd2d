import { chmod, open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { UsageError } from '../../lib/command.ts'

/** What a file says of itself: see `homeport version --json`. */
type Described = { version: string; schemaVersion: number }

const SUM_LIMIT = 1024 * 1024

/**
 * Puts the executable at `source`, a path or a URL, to `target`, and checks its SHA-256. That of a URL is in the file
 * `SHA256SUMS` beside it, unless `sum` is given. Returns it. Throws `UsageError` when there is none or it is another.
 */
export async function fetchExecutable(
  source: string,
  target: string,
  sum: string | null,
  onProgress: (done: number, total: number) => void,
): Promise<string> {
  const url = /^https?:\/\//.test(source) ? new URL(source) : null
  const expected = sum ?? (url && (await sumBeside(url)))
  const { content, size } = url ? await download(url) : await openFile(source)
  const hasher = new Bun.CryptoHasher('sha256')
  await using file = await open(target, 'w', 0o600)
  let done = 0
  for await (const chunk of content) {
    hasher.update(chunk)
    await file.writeFile(chunk)
    done += chunk.byteLength
    onProgress(done, size)
  }
  await file.sync()
  const found = hasher.digest('hex')
  if (expected !== null && found !== expected.toLowerCase()) {
    throw new UsageError(
      `The SHA-256 of ${source} is ${found}, which does not match the expected one.`,
    )
  }
  await chmod(target, 0o755)
  return found
}

/** Where the version before is kept. */
export function previousOf(executable: string): string {
  return `${executable}.previous`
}

/** Asks an executable what it is. Throws `UsageError` when it is none for this machine. */
export async function describeExecutable(path: string): Promise<Described> {
  try {
    const { stdout } = Bun.spawnSync([path, 'version', '--json'], { timeout: 30_000 })
    const { version, schemaVersion } = JSON.parse(stdout.toString())
    if (typeof version === 'string' && typeof schemaVersion === 'number') {
      return { version, schemaVersion }
    }
  } catch {
    // Said below.
  }
  throw new UsageError(
    `The file is not a homeport that runs on this machine: take the one for ${process.platform} on ${process.arch}.`,
  )
}

async function openFile(path: string) {
  const found = await stat(path).catch(() => {
    throw new UsageError(`${path} cannot be read.`)
  })
  return { content: Bun.file(path).stream(), size: found.size }
}

async function download(url: URL) {
  const reply = await ask(url)
  if (!reply.body) throw new UsageError(`${url.href} is empty.`)
  return { content: reply.body, size: Number(reply.headers.get('content-length') ?? 0) }
}

async function sumBeside(url: URL): Promise<string> {
  const sums = await (await ask(new URL('SHA256SUMS', url))).text()
  const name = basename(url.pathname)
  const line = sums
    .slice(0, SUM_LIMIT)
    .split('\n')
    .find((one) => one.endsWith(`  ${name}`))
  if (line) return line.slice(0, 64)
  throw new UsageError(`SHA256SUMS beside ${url.href} does not name it: give --sha256.`)
}

async function ask(url: URL): Promise<Response> {
  const reply = await fetch(url).catch(() => null)
  if (reply?.ok) return reply
  throw new UsageError(`${url.href} cannot be fetched (${reply?.status ?? 'no answer'}).`)
}
