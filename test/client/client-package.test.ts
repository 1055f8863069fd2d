import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const ROOT = join(import.meta.dir, '..', '..')
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')

const APP = `import { ApiError, createClient, type Client, type Session } from 'homeport/client'

const api: Client = createClient({ baseUrl: 'http://127.0.0.1:9', device: 'test' })
export async function run(): Promise<string> {
  const entered = await api.login({ email: 'ann@example.com', password: 'x' })
  if ('challengeToken' in entered) return entered.methods.join()
  const session: Session = entered
  const { profile } = await api.changeProfile({ profile: { name: session.user.email } })
  const [photo] = await api.uploadAttachments({ type: 'publicAsset', files: [], compression: true })
  return profile.name + (photo?.url ?? '')
}
export async function wrong() {
  // @ts-expect-error a field that is none
  await api.login({ mail: 'x', password: 'x' })
  // @ts-expect-error a word that is none of the two
  await api.uploadAttachments({ type: 'other', files: [] })
  // @ts-expect-error no such field in the reply
  return (await api.readProfile()).nickname
}
run().catch((error: unknown) => {
  console.log(error instanceof ApiError ? [error.status, error.code].join(' ') : error)
})
`

const SETTINGS = {
  bundler: { module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM'] },
  nodenext: { module: 'NodeNext', moduleResolution: 'NodeNext', lib: ['ES2022', 'DOM'] },
}

let app = ''

beforeAll(async () => {
  const built = Bun.spawnSync([process.execPath, 'build-client.ts'], { cwd: ROOT })
  expect([built.exitCode, built.stderr.toString()]).toEqual([0, ''])
  app = await mkdtemp(join(tmpdir(), 'homeport-app-'))
  await mkdir(join(app, 'node_modules'))
  // As `npm install ../homeport` does it.
  await symlink(ROOT, join(app, 'node_modules', 'homeport'))
  await writeFile(join(app, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(app, 'app.ts'), APP)
}, 60_000)

afterAll(() => rm(app, { recursive: true, force: true }))

test.each(Object.entries(SETTINGS))(
  'an app with its own strict settings (%s) compiles',
  async (name, settings) => {
    const compilerOptions = {
      strict: true,
      target: 'ES2022',
      types: [],
      outDir: 'out',
      ...settings,
    }
    await writeFile(
      join(app, `${name}.json`),
      JSON.stringify({ compilerOptions, files: ['app.ts'] }),
    )
    const compiled = Bun.spawnSync([process.execPath, TSC, '-p', `${name}.json`], { cwd: app })
    expect(compiled.stdout.toString()).toBe('')
    expect(compiled.exitCode).toBe(0)
  },
)

const RUNTIMES = [process.execPath, Bun.which('node')].filter((path) => path !== null)

test.each(RUNTIMES.map((path) => [basename(path), path] as const))(
  'and runs in %s, without anything else',
  (_name, runtime) => {
    const { stdout, stderr } = Bun.spawnSync([runtime, join('out', 'app.js')], { cwd: app })
    expect([stdout.toString(), stderr.toString()]).toEqual(['0 network_error\n', ''])
  },
)

test('what it shows is the client alone', async () => {
  const files = await Array.fromAsync(new Bun.Glob('*').scan(join(ROOT, 'dist', 'client')))
  expect(files.toSorted()).toEqual([
    'api-error.d.ts',
    'client.d.ts',
    'client.js',
    'errors.d.ts',
    'form.d.ts',
    'storage.d.ts',
    'transmit.d.ts',
  ])
})
