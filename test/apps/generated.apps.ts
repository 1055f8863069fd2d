import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'

/**
 * Generates, compiles and runs clients in other languages. Up to this version, the npm package contains the
 * generator as a jar; the libraries for generated code come from Debian or from that jar.
 */
const GENERATOR = '@openapitools/openapi-generator-cli@1.0.18-5.0.0-beta2'
const KOTLIN = 'kotlin-compiler@2.4.20'
const PROGRAMS = join(import.meta.dir, 'generated')
const JAR = 'node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar'
const LIBRARIES = ['okhttp', 'okio', 'gson'].map((name) => `/usr/share/java/${name}.jar`)
const PYTHON = '/usr/bin/python3'
const MINUTES = 60_000

const missingJavaTools = ['java', 'javac', 'npm'].filter((name) => Bun.which(name) === null)
const missingLibraries = LIBRARIES.filter((path) => !existsSync(path))
const missingPython = hasPython() ? [] : [`${PYTHON} with urllib3, dateutil, six and certifi`]

let folder = ''
let app: TestApp
let url = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-generated-'))
  if (missingJavaTools.length === 0) {
    await run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', GENERATOR, KOTLIN)
  }
  app = await createTestApp()
  url = `http://127.0.0.1:${app.app.listen({ port: 0, hostname: '127.0.0.1' }).server?.port}`
  await app.register('ann@example.com')
  await app.register('bea@example.com').then(turnOnTwoFactor)
  await writeFile(join(folder, 'one.txt'), 'one')
  await writeFile(join(folder, 'two.txt'), 'two')
}, 5 * MINUTES)

afterAll(async () => {
  await app.app.server?.stop(true)
  await app[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

testUnlessMissing('Python', [...missingJavaTools, ...missingPython], async () => {
  await generate('python-experimental', 'packageName=homeport')
  // The nulltype package is only on PyPI; generated code compares values with its `Null`.
  await writeFile(join(folder, 'python', 'nulltype.py'), 'Null = object()\n')
  const output = await run(PYTHON, join(PROGRAMS, 'demo.py'), url, PASSWORD, 'one.txt', 'two.txt')
  expect(output.split('\n')).toEqual([
    'two_factor_required True',
    'ok ann@example.com',
    "['Pixel 9']",
    "['one.txt', 'two.txt']",
  ])
})

testUnlessMissing('Java', missingJavaTools, async () => {
  const packages = 'invokerPackage=homeport,apiPackage=homeport.api,modelPackage=homeport.model'
  await generate('java', `${packages},library=native,dateLibrary=java8,openApiNullable=false`)
  const sources = await Array.fromAsync(new Bun.Glob('java/src/main/**/*.java').scan(folder))
  await run(
    'javac',
    '-nowarn',
    '-d',
    'classes',
    '-cp',
    JAR,
    ...sources,
    join(PROGRAMS, 'Demo.java'),
  )
  const output = await run('java', '-cp', `classes:${JAR}`, 'Demo', url, PASSWORD)
  expect(output.split('\n')).toEqual(['two_factor_required true', 'ok ann@example.com', 'Pixel 9'])
})

testUnlessMissing('Kotlin', [...missingJavaTools, ...missingLibraries], async () => {
  const options = 'packageName=homeport,library=jvm-okhttp3,serializationLibrary=gson'
  await generate('kotlin', options)
  await adaptToOkHttp3()
  const compiler = ['-cp', 'node_modules/kotlin-compiler/lib/*', COMPILER, '-nowarn']
  const sources = ['kotlin/src/main/kotlin', `${PROGRAMS}/OkHttp4.kt`, `${PROGRAMS}/Demo.kt`]
  const libraries = LIBRARIES.join(':')
  await run('java', ...compiler, '-no-reflect', '-d', 'kotlin.jar', '-cp', libraries, ...sources)
  const runtime = `kotlin.jar:${libraries}:node_modules/kotlin-compiler/lib/kotlin-stdlib.jar`
  const output = await run('java', '-cp', runtime, 'DemoKt', url, PASSWORD, 'one.txt')
  expect(output.split('\n')).toEqual([
    'two_factor_required true',
    'ok ann@example.com',
    '[Pixel 9]',
    '2',
  ])
})

const COMPILER = 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler'

/** Defines a test that is skipped when tools are missing; its name lists them. */
function testUnlessMissing(language: string, missing: string[], body: () => Promise<void>) {
  const name = `a client generated for ${language} signs in and sends the configured headers`
  if (missing.length === 0) test(name, body, 5 * MINUTES)
  else test.skip(`${name}: needs ${missing.join(', ')}`, body)
}

/** Python's generator supports `oneOf`; the others use the simple document. */
async function generate(generator: string, options: string) {
  const [language = ''] = generator.split('-')
  const path = language === 'python' ? '/docs/json' : '/docs/json?simple'
  await writeFile(join(folder, `${language}.json`), (await app.ask('GET', path)).text)
  await mkdir(join(folder, language))
  const paths = ['-i', `${language}.json`, '-g', generator, '-o', language]
  await run('java', '-jar', JAR, 'generate', ...paths, `--additional-properties=${options}`)
}

/** The generator targets OkHttp 4 and an earlier Kotlin, regardless of its options. */
async function adaptToOkHttp3() {
  for await (const path of new Bun.Glob('kotlin/src/main/**/infrastructure/*.kt').scan(folder)) {
    const file = join(folder, path)
    const source = await Bun.file(file).text()
    const adapted = source
      .replace(/okhttp3\.(RequestBody|MediaType|HttpUrl)\.Companion\./g, 'okhttp4.')
      .replaceAll('Headers.headersOf(', 'Headers.of(')
      .replaceAll('toLowerCase()', 'lowercase()')
      .replace(/\b(response|it|this)\.(code|headers|message|body)\b(?!\()/g, '$1.$2()')
    await Bun.write(file, adapted)
  }
}

async function turnOnTwoFactor({ accessToken: token }: { accessToken: string }) {
  const json = { password: PASSWORD }
  const setup = await app.ask('POST', '/api/auth/two_factor/v1', { token, json })
  const totp = new TOTP({ secret: Secret.fromBase32(setup.json.response.secret) })
  const code = totp.generate({ timestamp: app.clock.now.getTime() })
  await app.ask('POST', '/api/auth/two_factor/v1/confirm', { token, json: { code } })
}

function hasPython(): boolean {
  if (!existsSync(PYTHON)) return false
  return Bun.spawnSync([PYTHON, '-c', 'import urllib3, dateutil, six, certifi']).success
}

async function run(...command: string[]): Promise<string> {
  const env = { ...process.env, PYTHONPATH: 'python' }
  const program = Bun.spawn(command, { cwd: folder, env, stdout: 'pipe', stderr: 'pipe' })
  const streams = [program.stdout, program.stderr].map((stream) => new Response(stream).text())
  const [output = '', errorOutput] = await Promise.all(streams)
  if ((await program.exited) !== 0)
    throw new Error(`${command.join(' ')}: ${output}\n${errorOutput}`)
  return output.trim()
}
