import { join } from 'node:path'

/** The path of an embedded folder: inside the executable it lies beside the bundle, from source in the tree. */
export function asset(name: 'drizzle' | 'seed'): string {
  if (Bun.isStandaloneExecutable) return join(import.meta.dir, name)
  const root = join(import.meta.dir, '..', '..')
  return name === 'seed' ? join(root, 'data', 'seed') : join(root, name)
}
