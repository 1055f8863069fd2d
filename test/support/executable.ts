import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, existsSync } from 'node:fs'
import { link, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toPublicKey } from '../../src/lib/crypto/release-signature.ts'
import { WEBHOOK_TOKEN } from './app.ts'
import { createTestDatabase } from './databases.ts'
import { until } from './until.ts'

const ROOT = join(import.meta.dir, '..', '..')
/** Separate from `dist/homeport`, because this build accepts releases signed by tests. */
const FOLDER = join(ROOT, 'dist', 'test')
const EXECUTABLE = join(FOLDER, 'homeport')
/** Hard links are free but cannot cross disks, so installations link to this copy, which `preload.ts` removes. */
const COPY = join(tmpdir(), `homeport-executable-${process.pid}`)
/** The private key that signs releases in tests; each build creates a new one. */
export const RELEASE_KEY = join(FOLDER, 'release-key.pem')
/** A build lock older than this, in ms, was left by an interrupted build. */
const STALE_LOCK_MS = 60_000

export type Server = Awaited<ReturnType<Awaited<ReturnType<typeof installExecutable>>['start']>>

/** Builds the executable if it is older than its sources, and copies it; concurrent test processes build it only once. */
export async function buildExecutable() {
  const lock = join(FOLDER, 'building')
  await mkdir(FOLDER, { recursive: true })
  while (
    !(await mkdir(lock)
      .then(() => true)
      .catch(() => false))
  ) {
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > STALE_LOCK_MS) await rm(lock, { recursive: true, force: true })
    await Bun.sleep(50)
  }
  try {
    if (!(await isBuilt())) await build()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
  if (!existsSync(COPY)) copyFileSync(EXECUTABLE, COPY)
}

async function isBuilt(): Promise<boolean> {
  const built = await stat(EXECUTABLE).catch(() => null)
  if (!built) return false
  // A nested folder inside braces matches nothing (Bun 1.4).
  const folders = ['src', 'scripts', 'drizzle', 'data/seed'].map((folder) => `${folder}/**/*`)
  const sources = ['bun.lock', 'package.json', 'docs/*.md', ...folders]
  for (const pattern of sources) {
    for await (const path of new Bun.Glob(pattern).scan({
      cwd: ROOT,
      absolute: true,
      onlyFiles: false,
    })) {
      if ((await stat(path)).mtimeMs > built.mtimeMs) return false
    }
  }
  return true
}

/** Creates a private key to sign releases with. */
export function newReleaseKey(): string {
  return generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey
}

async function build() {
  const privateKey = newReleaseKey()
  await Bun.write(RELEASE_KEY, privateKey)
  const build = Bun.spawn([process.execPath, 'scripts/build.ts'], {
    cwd: ROOT,
    env: { ...process.env, OUTFILE: EXECUTABLE, RELEASE_PUBLIC_KEY: toPublicKey(privateKey) },
    stderr: 'pipe',
  })
  if ((await build.exited) !== 0) throw new Error(await new Response(build.stderr).text())
}

/** Installs the executable in a new, empty folder. */
export async function installExecutable() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-e2e-'))
  await link(COPY, join(folder, 'homeport'))
  const database = await createTestDatabase({ isEmpty: true })
  const started: Bun.Subprocess[] = []
  const { environment } = database
  return { folder, environment, run, start, launch, waitForLogLine, [Symbol.asyncDispose]: dispose }

  async function dispose() {
    for (const process of started) process.kill('SIGKILL')
    await Promise.all(started.map(({ exited }) => exited))
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }

  /** Runs a command until it exits, with `input` on its standard input. */
  async function run(args: string[], environment: Record<string, string> = {}, input = '') {
    const command = Bun.spawn([join(folder, 'homeport'), ...args], {
      cwd: folder,
      env: { ...database.environment, ...environment },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(command.stdout).text(),
      new Response(command.stderr).text(),
      command.exited,
    ])
    return { stdout, stderr, exitCode }
  }

  /**
   * Starts the server on PORT or a free port, wrapped in the command `wrapper`, with `args`, and waits until it is ready.
   */
  async function start(
    environment: Record<string, string> = {},
    wrapper: string[] = [],
    args: string[] = [],
  ) {
    const port = Number(environment['PORT'] ?? freePort())
    const { process, stop } = await launch({ ...environment, PORT: String(port) }, wrapper, args)
    const url = `http://127.0.0.1:${port}`
    await waitUntilReady(url, process)
    return { url, port, process, stop }
  }

  /** Waits until the log of the server has a line with `text`. */
  async function waitForLogLine(text: string, deadlineMs?: number) {
    const hasLine = async () => (await Bun.file(join(folder, 'log')).text()).includes(text)
    await until(hasLine, `the log does not contain "${text}"`, { deadlineMs })
  }

  /** Starts the server without waiting for it. */
  async function launch(
    environment: Record<string, string>,
    wrapper: string[] = [],
    args: string[] = [],
  ) {
    const process = Bun.spawn([...wrapper, join(folder, 'homeport'), ...args], {
      cwd: folder,
      env: {
        HOST: '127.0.0.1',
        WEBHOOK_TOKEN,
        RATES_PROVIDER: 'off',
        MIN_FREE_BYTES: '0',
        ...database.environment,
        ...environment,
      },
      stdin: 'ignore',
      stdout: Bun.file(join(folder, 'log')),
      stderr: 'inherit',
    })
    started.push(process)
    return { process, stop }

    async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
      process.kill(signal)
      return process.exited
    }
  }
}

export async function waitUntilReady(url: string, process: Bun.Subprocess, deadlineMs?: number) {
  const isReady = async () => {
    if (process.exitCode !== null) throw new Error(`the server exited with ${process.exitCode}`)
    return (await fetch(`${url}/ready`).catch(() => null))?.ok
  }
  await until(isReady, 'the server did not become ready', { deadlineMs })
}

export function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  return port
}
