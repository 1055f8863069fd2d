import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PASSWORD } from '../support/app.ts'
import { runBeside, startServerForGenerated } from '../support/generated-clients.ts'
import { GENERATORS, KOTLIN, KOTLIN_COMPILER } from './versions.ts'

/** Generates, compiles and runs clients in other languages, with libraries from Debian or from the generator's jar. */
const PROGRAMS = join(import.meta.dir, 'generated')
const JAR = 'node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar'
const LIBRARIES = ['okhttp', 'okio', 'gson'].map((name) => `/usr/share/java/${name}.jar`)
const PYTHON = '/usr/bin/python3'
const MINUTES = 60_000

const missingJavaTools = ['java', 'javac', 'npm'].filter((name) => Bun.which(name) === null)
const missingLibraries = LIBRARIES.filter((path) => !existsSync(path))
const missingPython = hasPython() ? [] : [`${PYTHON} with urllib3, dateutil, six and certifi`]

let folder = ''
let server: Awaited<ReturnType<typeof startServerForGenerated>>
let url = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-generated-'))
  if (missingJavaTools.length === 0) {
    const packages = [GENERATORS.openApiGenerator, KOTLIN]
    await run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages)
  }
  server = await startServerForGenerated()
  url = server.url
  await writeFile(join(folder, 'one.txt'), 'one')
  await writeFile(join(folder, 'two.txt'), 'two')
}, 5 * MINUTES)

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

testUnlessMissing('Python', [...missingJavaTools, ...missingPython], async () => {
  await generate('python-experimental', 'packageName=homeport')
  // The nulltype package is only on PyPI; generated code compares values with its `Null`.
  await writeFile(join(folder, 'python', 'nulltype.py'), 'Null = object()\n')
  const output = await run(PYTHON, join(PROGRAMS, 'demo.py'), url, PASSWORD, 'one.txt', 'two.txt')
  expect(output.split('\n')).toEqual([
    'ok python@example.com',
    'two_factor_required True',
    'ok ann@example.com',
    'refreshed True',
    "['Pixel 9']",
    "['one.txt', 'two.txt']",
    'free',
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
  expect(output.split('\n')).toEqual([
    'ok java@example.com',
    'two_factor_required true',
    'ok ann@example.com',
    'refreshed true',
    'Pixel 9',
    'free',
  ])
})

testUnlessMissing('Kotlin', [...missingJavaTools, ...missingLibraries], async () => {
  const options = 'packageName=homeport,library=jvm-okhttp3,serializationLibrary=gson'
  await generate('kotlin', options)
  await adaptToOkHttp3()
  const compiler = ['-cp', 'node_modules/kotlin-compiler/lib/*', KOTLIN_COMPILER, '-nowarn']
  const sources = ['kotlin/src/main/kotlin', `${PROGRAMS}/OkHttp4.kt`, `${PROGRAMS}/Demo.kt`]
  const libraries = LIBRARIES.join(':')
  await run('java', ...compiler, '-no-reflect', '-d', 'kotlin.jar', '-cp', libraries, ...sources)
  const runtime = `kotlin.jar:${libraries}:node_modules/kotlin-compiler/lib/kotlin-stdlib.jar`
  const output = await run('java', '-cp', runtime, 'DemoKt', url, PASSWORD, 'one.txt')
  expect(output.split('\n')).toEqual([
    'ok kotlin@example.com',
    'two_factor_required true',
    'ok ann@example.com',
    'refreshed true',
    '[Pixel 9]',
    '2',
    'free',
  ])
})

/** Defines a test that is skipped when tools are missing; its name lists them. */
function testUnlessMissing(language: string, missing: string[], body: () => Promise<void>) {
  const name = `a client generated for ${language} signs in, refreshes and sends the configured headers`
  if (missing.length === 0) test(name, body, 5 * MINUTES)
  else test.skip(`${name}: needs ${missing.join(', ')}`, body)
}

/** Python's generator supports `oneOf`; the others use the simple document. */
async function generate(generator: string, options: string) {
  const [language = ''] = generator.split('-')
  const document = await (
    await fetch(`${url}/docs/json${language === 'python' ? '' : '?simple'}`)
  ).json()
  if (language === 'python') inlineFreeFormBodies(document)
  await writeFile(join(folder, `${language}.json`), JSON.stringify(document))
  await mkdir(join(folder, language))
  const paths = ['-i', `${language}.json`, '-g', generator, '-o', language]
  await run('java', '-jar', JAR, 'generate', ...paths, `--additional-properties=${options}`)
}

/** Version 5.0 of Python's generator crashes on references to a schema that is any object. */
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
function inlineFreeFormBodies({ paths, components }: any) {
  for (const method of ['put', 'patch']) {
    const content = paths['/api/user/data/v1'][method].requestBody.content['application/json']
    const name = content.schema.$ref.split('/').at(-1)
    content.schema = components.schemas[name]
    delete components.schemas[name]
  }
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

function hasPython(): boolean {
  if (!existsSync(PYTHON)) return false
  return Bun.spawnSync([PYTHON, '-c', 'import urllib3, dateutil, six, certifi']).success
}

function run(...command: string[]): Promise<string> {
  return runBeside(folder, command, { PYTHONPATH: 'python' })
}
