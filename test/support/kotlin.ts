import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { KOTLIN, KOTLIN_COMPILER } from '../apps/versions.ts'

const NATIVE = join(import.meta.dir, '../../src/client/native')
const DRIVER = join(import.meta.dir, '../apps/conformance/Driver.kt')
/** Android's own implementation, from Debian's libandroid-json-org-java. */
export const JSON_LIBRARY = '/usr/share/java/json-android.jar'
/** The oldest JVM that the client supports. */
const TARGET = ['-jvm-target', '11']

/** The requirements for compiling Kotlin that this machine lacks. */
export function missingForKotlin(): string[] {
  const tools = ['java', 'npm'].filter((name) => Bun.which(name) === null)
  const libraries = existsSync(JSON_LIBRARY) ? [] : ['libandroid-json-org-java']
  return [...tools, ...libraries]
}

/** Compiles the Kotlin client and its driver, or other sources, into `folder`. Returns the command that runs the driver. */
export async function buildKotlinDriver(folder: string, version = KOTLIN): Promise<string[]> {
  await run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', version)
  const sources = ['Homeport.kt', 'HomeportModels.kt'].map((name) => join(NATIVE, name))
  const compiler = ['-cp', join(folder, 'node_modules/kotlin-compiler/lib/*'), KOTLIN_COMPILER]
  const options = ['-no-reflect', ...TARGET, '-d', 'driver.jar', '-cp', JSON_LIBRARY]
  await run(folder, 'java', ...compiler, ...options, ...sources, DRIVER)
  const library = join(folder, 'node_modules/kotlin-compiler/lib/kotlin-stdlib.jar')
  const classes = [join(folder, 'driver.jar'), JSON_LIBRARY, library].join(':')
  return ['java', '-XX:TieredStopAtLevel=1', '-cp', classes, 'homeport.DriverKt']
}

/** Throws the whole output of a command that fails. */
async function run(cwd: string, ...command: string[]) {
  const program = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe' })
  const streams = [program.stdout, program.stderr].map((stream) => new Response(stream).text())
  const output = (await Promise.all(streams)).join('\n')
  if ((await program.exited) !== 0) throw new Error(`${command.join(' ')}: ${output}`)
}
