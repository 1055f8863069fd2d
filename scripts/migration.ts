import { ROOT } from './root.ts'

/** Generates the migration of both engines from the tables: `bun run migration --name <what>`. */
for (const engine of ['sqlite', 'postgres']) {
  const config = `drizzle/${engine}/config.ts`
  const command = [process.execPath, '--bun', 'drizzle-kit', 'generate', '--config', config]
  const { exitCode } = Bun.spawnSync([...command, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if (exitCode !== 0) process.exit(exitCode)
}
