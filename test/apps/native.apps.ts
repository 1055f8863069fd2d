import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildKotlinDriver, missingForKotlin } from '../support/kotlin.ts'
import { compileSwift, missingForSwift } from '../support/swift.ts'
import { runScenario } from './conformance/run.ts'
import { SCENARIOS } from './conformance/scenarios/all.ts'
import { testSealing } from './conformance/sealing.ts'

/** The three clients behave alike: the same scenarios drive each as a program. */
const CONFORMANCE = join(import.meta.dir, 'conformance')
const NATIVE = join(import.meta.dir, '../../src/client/native')
const BUILD_MS = 10 * 60_000
const SCENARIO_MS = 60_000

const folder = await mkdtemp(join(tmpdir(), 'homeport-native-'))

afterAll(() => rm(folder, { recursive: true, force: true }))

/** `missing`: the tools that this machine lacks. `build` compiles the driver, and returns the command that runs it. */
type Client = { missing: string; build: () => Promise<string[]> }

const swiftSources = ['Homeport.swift', 'HomeportModels.swift'].map((name) => join(NATIVE, name))
const compile = (language: '5' | '6') =>
  compileSwift(
    [...swiftSources, join(CONFORMANCE, 'driver.swift')],
    join(CONFORMANCE, 'CryptoShim.swift'),
    language,
  )

const clients: Record<string, Client> = {
  TypeScript: { missing: '', build: async () => ['bun', join(CONFORMANCE, 'driver.ts')] },
  Kotlin: { missing: missingForKotlin().join(', '), build: () => buildKotlinDriver(folder) },
  Swift: { missing: missingForSwift() ?? '', build: () => compile('6') },
}

for (const [name, { missing, build }] of Object.entries(clients)) {
  describe.skipIf(missing !== '')(missing === '' ? name : `${name}: needs ${missing}`, () => {
    let command: string[] = []

    test(
      'compiles',
      async () => {
        command = await build()
      },
      { timeout: BUILD_MS },
    )

    test.each(SCENARIOS)('$name', (scenario) => runScenario(scenario, command), SCENARIO_MS)

    testSealing(() => command)
  })
}

test.skipIf(missingForSwift() !== null)(
  'the Swift client compiles in Swift 5 mode',
  async () => {
    expect(await compile('5')).not.toEqual([])
  },
  BUILD_MS,
)
