import { join } from 'node:path'

/** The path of an embedded directory or file: next to the bundle in the executable, in the source tree otherwise. */
export function assetPath(name: 'client.tgz' | 'console' | 'drizzle' | 'native' | 'seed'): string {
  if (Bun.isStandaloneExecutable) return join(import.meta.dir, name)
  const root = join(import.meta.dir, '..', '..', '..')
  const paths = {
    'client.tgz': 'dist/client.tgz',
    console: 'dist/console',
    drizzle: 'drizzle',
    native: 'dist/native',
    seed: 'data/seed',
  }
  return join(root, paths[name])
}
