import { join } from 'node:path'

/** The path of an embedded directory: next to the bundle in the executable, in the source tree otherwise. */
export function assetPath(name: 'console' | 'drizzle' | 'seed'): string {
  if (Bun.isStandaloneExecutable) return join(import.meta.dir, name)
  const root = join(import.meta.dir, '..', '..')
  const folders = { console: 'dist/console', drizzle: 'drizzle', seed: 'data/seed' }
  return join(root, folders[name])
}
