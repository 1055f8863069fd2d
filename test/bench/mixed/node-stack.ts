import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../support/executable.ts'
import { WEBHOOK_TOKEN, waitUntilOk } from '../servers.ts'
import type { Contender, Size } from './contender.ts'
import { countRows, PUBLIC_PATHS, prepareWorld } from './homeport.ts'

const PACKAGES = [
  'fastify@5.12.8',
  'better-sqlite3@12.11.1',
  'jose@6.2.17',
  '@node-rs/argon2@2.2.1',
  'sharp@0.35.5',
]
const SOURCE = join(import.meta.dir, 'node-stack')
/** Token checks must not wait for hashes and images, which take at most four threads. */
const THREADS = '8'

/**
 * Starts the Node stack with the public content of the server on port `contentPort`. Returns null
 * and prints the reason if it cannot run.
 */
export async function startNodeStack(
  folder: string,
  size: Size,
  photo: string,
  contentPort: number,
): Promise<Contender | null> {
  const port = freePort()
  const program = join(folder, 'node-stack')
  const dataDir = join(program, 'data')
  if (!(await install(program))) return null
  await mkdir(dataDir)
  const contents = await Promise.all(
    PUBLIC_PATHS.map(async (path) => {
      const reply = await fetch(`http://127.0.0.1:${contentPort}${path}`)
      return [path, await reply.text()]
    }),
  )
  await Bun.write(join(dataDir, 'content.json'), JSON.stringify(Object.fromEntries(contents)))
  const server = Bun.spawn(['node', 'server.js', String(port), dataDir, WEBHOOK_TOKEN], {
    cwd: program,
    env: { ...process.env, UV_THREADPOOL_SIZE: THREADS, NODE_ENV: 'production' },
    stdio: ['ignore', Bun.file('/dev/null'), 'inherit'],
  })
  await waitUntilOk(`http://127.0.0.1:${port}/health`)
  return {
    name: 'Node stack',
    pid: server.pid,
    port,
    about: `node ${await readNodeVersion()}, ${PACKAGES.join(', ')}; argon2id 19 MiB t=2; SQLite, synchronous=FULL; WebP on upload`,
    apiName: 'homeport',
    prepare: () => prepareWorld(port, size, photo),
    async stop() {
      server.kill()
      await server.exited
    },
    countStored: () =>
      countRows(join(dataDir, 'app.db'), { events: 'events', uploads: 'pictures' }),
  }
}

async function install(program: string): Promise<boolean> {
  await cp(SOURCE, program, { recursive: true })
  await Bun.write(join(program, 'package.json'), '{"type":"module","private":true}')
  if (Bun.which('node') === null || Bun.which('npm') === null) {
    console.log('Skipping the Node stack: node or npm is missing')
    return false
  }
  const installProcess = Bun.spawn(['npm', 'install', '--no-audit', '--no-fund', ...PACKAGES], {
    cwd: program,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errors = await new Response(installProcess.stderr).text()
  if ((await installProcess.exited) === 0) return true
  console.log(`Skipping the Node stack: its packages cannot be installed: ${errors.trim()}`)
  return false
}

async function readNodeVersion(): Promise<string> {
  const versionProcess = Bun.spawn(['node', '--version'])
  return (await new Response(versionProcess.stdout).text()).trim()
}
