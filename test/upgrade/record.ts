import { Database } from 'bun:sqlite'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntilOk } from '../bench/servers.ts'
import { freePort } from '../support/executable.ts'
import { pack, type Record } from './archive.ts'
import { addData, BASE_URL, WEBHOOK_TOKEN } from './scenario.ts'

/**
 * Builds the executable of an earlier commit, fills its data directory and stores it as an archive:
 * `bun test/upgrade/record.ts <commit> [<archive name>]`. The default name is the schema version.
 */
const [commit = '', chosenName] = process.argv.slice(2)
const root = join(import.meta.dir, '..', '..')
const folder = await mkdtemp(join(tmpdir(), 'homeport-record-'))
const source = join(folder, 'source')
const executable = join(source, 'dist', 'homeport')
const dataDir = join(folder, 'run', 'data')
const environment = {
  HOST: '127.0.0.1',
  BASE_URL,
  WEBHOOK_TOKEN,
  RATES_PROVIDER: 'off',
  RATE_LIMITS: 'off',
  MIN_FREE_BYTES: '0',
  DATA_DIR: dataDir,
}

try {
  await run(['git', 'worktree', 'add', '--detach', source, commit], root)
  await run(['bun', 'install', '--frozen-lockfile'], source)
  await run(['bun', 'run', 'build'], source)
  const hash = (await run(['git', 'rev-parse', '--short=8', 'HEAD'], source)).trim()
  const files = await run(['git', 'ls-files', 'drizzle'], source)
  const version = files.match(/(?<=drizzle\/(sqlite\/)?)\d{4}_.*\.sql/g)?.length ?? 0
  const name = chosenName ?? String(version).padStart(2, '0')
  const size = await fill(name, { commit: hash, schemaVersion: version })
  console.log(`${hash}: schema version ${version}, ${Math.ceil(size / 1024)} KiB`)
} finally {
  await run(['git', 'worktree', 'remove', '--force', source], root).catch(console.error)
  await rm(folder, { recursive: true, force: true })
}

async function fill(name: string, from: Pick<Record, 'commit' | 'schemaVersion'>): Promise<number> {
  const hasDemo =
    (await run(['git', 'grep', '-c', 'addDemoData', '--', 'src'], source, true)) !== ''
  const port = process.env['PORT'] ?? String(freePort())
  await run(['mkdir', '-p', join(folder, 'run')], folder)
  const server = Bun.spawn([executable, 'serve', ...(hasDemo ? ['--demo'] : [])], {
    cwd: join(folder, 'run'),
    env: { ...environment, PORT: port },
    stdio: ['ignore', Bun.file(join(folder, 'log')), 'inherit'],
  })
  try {
    const url = `http://127.0.0.1:${port}`
    await waitUntilOk(`${url}/ready`)
    const record = await addData({ url, run: runCommand, report: console.error }, from)
    server.kill('SIGTERM')
    if ((await server.exited) !== 0) throw new Error('the server did not stop cleanly')
    leaveFewSamples(join(dataDir, 'homeport.db'))
    return await pack(name, dataDir, record)
  } finally {
    server.kill('SIGKILL')
    await server.exited
  }
}

/** The demo has a week of measurements, which would be most of the archive. */
function leaveFewSamples(path: string) {
  const db = new Database(path)
  db.run('DELETE FROM samples WHERE rowid NOT IN (SELECT rowid FROM samples LIMIT 20)')
  db.run('VACUUM')
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

async function runCommand(args: string[]): Promise<unknown> {
  const command = [executable, ...args, '--json']
  const text = await run(command, join(folder, 'run'), true)
  return text === '' ? null : JSON.parse(text)
}

/** Runs a program and returns its output. With `mayFail`, prints a failure and returns an empty text. */
async function run(command: string[], cwd: string, mayFail = false): Promise<string> {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) === 0) return output
  const failure = `${command.slice(0, 4).join(' ')}: ${(errors || output).slice(-500)}`
  if (!mayFail) throw new Error(failure)
  console.error(failure)
  return ''
}
