import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeEmptyApp, run, startAppProjects } from '../support/app-projects.ts'

/** Package managers install the client from a running server, and again from their lockfiles. */
const MINUTES = 60_000

let projects: Awaited<ReturnType<typeof startAppProjects>>
let integrity = ''

beforeAll(async () => {
  projects = await startAppProjects()
  const document = await (await fetch(`${projects.server.url}/docs/json`)).text()
  integrity = /sha512-[\w+/=]+/.exec(document)?.[0] ?? ''
  expect(integrity).toHaveLength('sha512-'.length + 88)
}, MINUTES)
afterAll(() => projects[Symbol.asyncDispose]())

const MANAGERS: [name: string, add: string[], reinstall: string[], lockfile: string][] = [
  ['npm', ['install'], ['ci'], 'package-lock.json'],
  ['pnpm', ['add'], ['install', '--frozen-lockfile'], 'pnpm-lock.yaml'],
  ['bun', ['add'], ['install', '--frozen-lockfile'], 'bun.lock'],
  // Yarn 1 does not check the integrity of packages from a URL.
  ['yarn', ['add'], ['install', '--frozen-lockfile'], ''],
]

test.each(MANAGERS)(
  '%s installs the client, and again from its lockfile',
  async (name, add, reinstall, lockfile) => {
    const program = await programOf(name)
    const app = await makeEmptyApp(projects.folder, `${name}-app`)
    run(app, ...program, ...add, projects.clientUrl)
    await rm(join(app, 'node_modules'), { recursive: true })
    run(app, ...program, ...reinstall)
    const check = `import('homeport-client').then(({ createClient }) => console.log(typeof createClient))`
    expect(run(app, 'node', '-e', check)).toBe('function')
    if (lockfile) expect(await Bun.file(join(app, lockfile)).text()).toContain(integrity)
    console.log(`${name} ${run(app, ...program, '--version')}: ok`)
  },
  5 * MINUTES,
)

test(
  'npm ci refuses a package that differs from the lockfile',
  async () => {
    const app = await projects.make('changed')
    const path = join(app, 'package-lock.json')
    const lock = await Bun.file(path).text()
    const other = `sha512-${Buffer.alloc(64).toString('base64')}`
    await Bun.write(path, lock.replace(integrity, other))
    expect(() => run(app, 'npm', 'ci')).toThrow('EINTEGRITY')
  },
  MINUTES,
)

test(
  'an app that keeps the package file builds again without the server',
  async () => {
    const app = await makeEmptyApp(projects.folder, 'kept')
    const file = 'vendor/homeport-client.tgz'
    await Bun.write(join(app, file), await fetch(projects.clientUrl))
    run(app, 'npm', 'install', `./${file}`)
    await rm(join(app, 'node_modules'), { recursive: true })
    run(app, 'npm', 'ci', '--offline')
    expect(await Bun.file(join(app, 'package-lock.json')).text()).toContain(integrity)
  },
  MINUTES,
)

test(
  'the file that homeport client writes is the package that the server sends',
  async () => {
    const { homeport, folder } = projects
    const file = join(folder, 'client.tgz')
    const { stdout, exitCode } = await homeport.run(['client', '--out', file])
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(integrity)])
    const app = await makeEmptyApp(folder, 'from-file')
    await cp(file, join(app, 'client.tgz'))
    run(app, 'npm', 'install', './client.tgz')
    expect(await Bun.file(join(app, 'package-lock.json')).text()).toContain(integrity)
  },
  MINUTES,
)

/** The command that runs a package manager; npm and Bun are installed already. */
async function programOf(name: string): Promise<string[]> {
  if (name === 'npm') return ['npm']
  if (name === 'bun') return [process.execPath]
  const tools = await makeEmptyApp(projects.folder, name)
  run(tools, 'npm', 'install', '--no-audit', '--no-fund', name === 'yarn' ? 'yarn@1' : 'pnpm@10')
  return [join(tools, 'node_modules', '.bin', name)]
}
