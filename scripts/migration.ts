import { ROOT } from './root.ts'

/** Generates a migration for each engine from the tables: `bun run migration --name <name>`. */
for (const engine of ['sqlite', 'postgres']) {
  const config = `drizzle/${engine}/config.ts`
  const command = [process.execPath, '--bun', 'drizzle-kit', 'generate', '--config', config]
  const { exitCode } = Bun.spawnSync([...command, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if (exitCode !== 0) process.exit(exitCode)
}
