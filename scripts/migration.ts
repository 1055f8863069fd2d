import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './root.ts'

/**
 * Generates a migration for each engine from the tables: `bun run migration --name <name>`. drizzle-kit compares them with
 * its last snapshot; the earlier ones are removed.
 */
for (const engine of ['sqlite', 'postgres']) {
  const config = `drizzle/${engine}/config.ts`
  const command = [process.execPath, '--bun', 'drizzle-kit', 'generate', '--config', config]
  const { exitCode } = Bun.spawnSync([...command, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if (exitCode !== 0) process.exit(exitCode)
  const meta = join(ROOT, 'drizzle', engine, 'meta')
  const snapshots = readdirSync(meta).filter((name) => name.endsWith('_snapshot.json'))
  for (const name of snapshots.toSorted().slice(0, -1)) rmSync(join(meta, name))
}
