import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PASSWORD } from '../support/app.ts'
import { makeEmptyApp, report } from '../support/app-projects.ts'
import { runBeside, startServerForGenerated } from '../support/generated-clients.ts'
import { GENERATORS } from './versions.ts'

/** Generates clients in TypeScript from the document of a running server, compiles them strictly and runs them. */
const PROGRAMS = join(import.meta.dir, 'generated')
const TSC = join(import.meta.dir, '..', '..', 'node_modules', '.bin', 'tsc')
const MINUTES = 60_000

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'ESNext',
  module: 'Preserve',
  moduleResolution: 'bundler',
  lib: ['ESNext', 'DOM', 'DOM.Iterable'],
  types: ['node'],
  skipLibCheck: true,
}

let folder = ''
let server: Awaited<ReturnType<typeof startServerForGenerated>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-generated-'))
  server = await startServerForGenerated()
}, MINUTES)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test(
  'openapi-typescript and openapi-fetch: a generated client signs in, refreshes and uploads',
  async () => {
    const app = await makeApp(
      'openapi-fetch',
      GENERATORS.openApiTypeScript,
      GENERATORS.openApiFetch,
    )
    const output = 'openapi-typescript/schema.d.ts'
    await generate(app, 'openapi-typescript', 'homeport.json', '--output', output)
    await expectToWork(app, 'openapi-fetch')
    for (const name of ['openapi-typescript', 'openapi-fetch']) await report(app, name, name)
  },
  5 * MINUTES,
)

test(
  'orval: generated clients with fetch and axios sign in, refresh and upload',
  async () => {
    const app = await makeApp('orval', GENERATORS.orval, GENERATORS.axios)
    const clientFor = (client: string, baseUrl?: string) => ({
      input: 'homeport.json',
      output: { target: `orval/${client}.ts`, client, baseUrl },
    })
    // The functions with axios take the address from `axios.defaults`, those with fetch only from here.
    const config = { fetch: clientFor('fetch', server.url), axios: clientFor('axios-functions') }
    const module = `export default ${JSON.stringify(config)}`
    await writeFile(join(app, 'orval.config.mjs'), module)
    await generate(app, 'orval', '--config', 'orval.config.mjs')
    for (const program of ['orval-fetch', 'orval-axios']) await expectToWork(app, program)
    for (const name of ['orval', 'axios']) await report(app, name, name)
  },
  5 * MINUTES,
)

test(
  'Hey API: a generated client signs in, refreshes and uploads',
  async () => {
    const app = await makeApp('hey-api', GENERATORS.heyApi, GENERATORS.typeScript6)
    await generate(app, 'openapi-ts', '--input', 'homeport.json', '--output', 'sdk')
    await expectToWork(app, 'hey-api')
    await report(app, 'Hey API', '@hey-api/openapi-ts')
  },
  5 * MINUTES,
)

/** An app with the OpenAPI document of the running server. */
async function makeApp(name: string, ...packages: string[]): Promise<string> {
  const app = await makeEmptyApp(folder, name)
  const install = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts']
  await runBeside(app, [...install, '@types/node@24', ...packages])
  await writeFile(join(app, 'homeport.json'), await (await fetch(`${server.url}/docs/json`)).text())
  return app
}

/** Runs a generator with Bun, because some need a later Node than this machine may have. */
async function generate(app: string, generator: string, ...options: string[]) {
  const program = join(app, 'node_modules', '.bin', generator)
  await runBeside(app, [process.execPath, '--bun', program, ...options])
}

/** Compiles a program of `generated` with its generated client, and runs it. */
async function expectToWork(app: string, program: string) {
  const file = `${program}.ts`
  await cp(join(PROGRAMS, file), join(app, file))
  const settings = { compilerOptions: COMPILER_OPTIONS, files: [file] }
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify(settings))
  await runBeside(app, [process.execPath, '--bun', TSC, '-p', '.'])
  const email = `${program}@example.com`
  const output = await runBeside(app, [process.execPath, file, server.url, PASSWORD, email])
  expect(output.split('\n')).toEqual([
    `ok ${email}`,
    '401 invalid_credentials',
    'two_factor_required true',
    'ok ann@example.com',
    'refreshed true',
    'Pixel 9',
    'one.txt two.txt',
    'free 0',
  ])
}
