import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildExecutable, installExecutable } from './executable.ts'

export const PAGES = join(import.meta.dir, '..', '..', 'docs')

/** Calls without a server, plain and sealed. */
export const MAIN = `import { createClient, isUpdateRequired } from 'homeport-client'
const failure = (env) =>
  createClient({ baseUrl: 'http://127.0.0.1:9', env }).readFaqs().catch(({ code }) => code)
const codes = [typeof isUpdateRequired, await failure('test'), await failure('production')]
console.log(codes.join(' '))
`
export const EXPECTED_OUTPUT = 'function network_error network_error'

/** Signs in, restores the session from `storage` in a second client, and signs out. */
export const SESSION_SCRIPT = `
const user = { _id: '1', email: 'ann@example.com' }
const session = { accessToken: 'a'.repeat(900), refreshToken: 'r', expiresIn: 900, user }
const replies = { login: session, profile: user }
const fetch = async (url) => Response.json({ code: 'ok', response: replies[url.split('/')[5]], message: '' })
const open = () => createClient({ baseUrl: 'http://127.0.0.1:9', fetch, storage })
await open().login({ email: 'ann@example.com', password: 'x' })
const secondClient = open()
secondClient.onAuthChange(() => {})
const restored = [await secondClient.isSignedIn(), (await secondClient.readProfile()).email]
await secondClient.logout()
console.log(...restored, await open().isSignedIn())
`

/**
 * A server, and projects of apps that install the client from it. Needs npm and its registry. The tests print the
 * version of each tool with which they have succeeded.
 */
export async function startAppProjects() {
  await buildExecutable()
  const folder = await mkdtemp(join(tmpdir(), 'homeport-apps-'))
  const homeport = await installExecutable()
  const server = await homeport.start()
  const clientUrl = `${server.url}/client.tgz`
  return { folder, homeport, server, clientUrl, make, [Symbol.asyncDispose]: dispose }

  /** An app with the client and other dependencies. */
  async function make(name: string, ...dependencies: string[]): Promise<string> {
    const app = await makeEmptyApp(folder, name)
    run(app, 'npm', 'install', '--no-audit', '--no-fund', clientUrl, ...dependencies)
    return app
  }

  async function dispose() {
    await server.stop()
    await homeport[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
}

export async function makeEmptyApp(folder: string, name: string): Promise<string> {
  const app = join(folder, name)
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "private": true }')
  return app
}

/** Prints a tool's version after its test has succeeded: `Vite 7.3.1: ok`. */
export async function report(app: string, tool: string, packageName: string) {
  const { version } = await Bun.file(join(app, 'node_modules', packageName, 'package.json')).json()
  console.log(`${tool} ${version}: ok`)
}

/** Reads the code example of a page in `docs` whose first line names the file. */
export async function readExample(name: string, page = 'client.md'): Promise<string> {
  const [, code] = (await Bun.file(join(PAGES, page)).text()).split(`\n// ${name}\n`)
  if (code === undefined) throw new Error(`docs/${page} has no ${name}`)
  return code.slice(0, code.indexOf('\n```'))
}

/** Runs a command without telemetry and returns its output. Throws its whole output if it fails. */
export function run(cwd: string, ...command: string[]): string {
  const env = {
    ...process.env,
    CI: '1',
    EXPO_NO_TELEMETRY: '1',
    EXPO_OFFLINE: '1',
    NEXT_TELEMETRY_DISABLED: '1',
    WRANGLER_SEND_METRICS: 'false',
  }
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, env, stdin: 'ignore' })
  const output = stdout.toString().trim()
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${output}\n${stderr}`)
  return output
}
