import { expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { declareModels } from '../../scripts/client-models.ts'
import { clientModels } from '../../src/server/client-models.ts'

const ROOT = join(import.meta.dir, '..', '..')
/** Long enough to check the types of the server on a busy machine. */
const COMPILER_TIMEOUT_MS = 180_000

const COMPARISON = `
import type * as Source from '../../src/client/models.ts'
import type * as Declared from './models.ts'

type Flat<T> = T extends object ? { [K in keyof T]: Flat<T[K]> } : T
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<Server, Type>(
  ..._same: Same<Flat<Server>, Flat<Type>> extends true ? [] : ['another type']
) {}
`

test(
  'the declared types match the server’s',
  async () => {
    await mkdir(join(ROOT, 'dist'), { recursive: true })
    const folder = await mkdtemp(join(ROOT, 'dist', 'models-'))
    try {
      const calls = Object.keys(clientModels).map(
        (name) => `same<Source.${name}, Declared.${name}>()`,
      )
      await writeFile(join(folder, 'comparison.ts'), COMPARISON + calls.join('\n'))
      await writeFile(join(folder, 'models.ts'), declareModels())
      const settings = {
        extends: '../../tsconfig.json',
        include: ['comparison.ts', '../../src/**/*.d.ts'],
      }
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
      const compiler = Bun.spawn(
        [process.execPath, join(ROOT, 'node_modules', '.bin', 'tsc'), '-p', folder],
        { cwd: ROOT, stdout: 'pipe' },
      )
      expect(await compiler.stdout.text()).toBe('')
    } finally {
      await rm(folder, { recursive: true })
    }
  },
  COMPILER_TIMEOUT_MS,
)
