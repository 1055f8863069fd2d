import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { makeEmptyApp, report, run } from '../support/app-projects.ts'
import { JSON_LIBRARY, missingForKotlin } from '../support/kotlin.ts'
import { writeExamples } from '../support/page-examples.ts'
import { createSwiftCheck, missingForSwift } from '../support/swift.ts'
import { KOTLIN, KOTLIN_COMPILER } from './versions.ts'

/** Compiles the code of the pages for Swift and Kotlin against the signatures of the platforms that it uses. */
const NATIVE = join(import.meta.dir, '../../src/client/native')
const CLIENT = ['Homeport', 'HomeportModels']
const KOTLIN_PAGES = ['client-kotlin.md', 'google-play-kotlin.md']
const SWIFT_PAGES = ['client-swift.md', 'app-store-swift.md']
const MINUTES = 60_000

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'homeport-pages-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const missingKotlin = missingForKotlin()
const kotlinTest = 'the pages for Kotlin compile with the client and the signatures of Android'
test.skipIf(missingKotlin.length > 0)(
  missingKotlin.length === 0 ? kotlinTest : `${kotlinTest}: needs ${missingKotlin.join(', ')}`,
  async () => {
    const app = await makeEmptyApp(folder, 'kotlin')
    run(app, 'npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', KOTLIN)
    const libraries = join(app, 'node_modules/kotlin-compiler/lib')
    const jars = ['kotlinx-coroutines-core-jvm', 'kotlin-test', 'kotlin-test-junit'].map((name) =>
      join(libraries, `${name}.jar`),
    )
    const compile = (jar: string, sources: string[], classPath: string[], ...options: string[]) => {
      const output = ['-no-reflect', '-jvm-target', '11', '-d', jar, '-cp', classPath.join(':')]
      run(app, 'java', '-cp', `${libraries}/*`, KOTLIN_COMPILER, ...output, ...options, ...sources)
    }
    const client = CLIENT.map((name) => join(NATIVE, `${name}.kt`))
    compile('client.jar', client, [JSON_LIBRARY])
    const stubs = join(import.meta.dir, 'kotlin')
    compile('android.jar', [stubs], jars)
    const classPath = [...jars, JSON_LIBRARY, 'client.jar', 'android.jar']
    for (const page of KOTLIN_PAGES) {
      const files = await writeExamples(page, 'kotlin', join(app, page))
      expect(files.length).toBeGreaterThan(1)
      compile(`${page}.jar`, files, classPath, '-Werror')
    }
    await report(app, 'Kotlin', 'kotlin-compiler')
  },
  10 * MINUTES,
)

const missingSwift = missingForSwift()
const swiftTest =
  'the pages for Swift compile with the client and the signatures of Apple’s frameworks'
test.skipIf(missingSwift !== null)(
  missingSwift === null ? swiftTest : `${swiftTest}: needs ${missingSwift}`,
  async () => {
    await using check = await createSwiftCheck()
    const modules = ['Combine', 'SwiftUI', 'StoreKit', 'AuthenticationServices', 'XCTest']
    for (const name of modules) await emit(name, join(import.meta.dir, 'swift', `${name}.swift`))
    await emit('Crypto', join(import.meta.dir, 'conformance', 'CryptoShim.swift'))
    const client = await check.add(...CLIENT.map((name) => join(NATIVE, `${name}.swift`)))
    for (const page of SWIFT_PAGES) {
      const files = await writeExamples(page, 'swift', join(check.path, page))
      expect(files.length).toBeGreaterThan(1)
      const names = files.map((path) => join(page, basename(path)))
      for (const language of ['5', '6']) {
        const options = ['-swift-version', language, '-warnings-as-errors', '-typecheck']
        await check.swiftc(...options, '-parse-as-library', ...client, ...names)
      }
    }

    async function emit(module: string, source: string) {
      const options = ['-emit-module', '-parse-as-library', '-module-name', module]
      await check.swiftc('-swift-version', '6', ...options, ...(await check.add(source)))
    }
  },
  10 * MINUTES,
)
