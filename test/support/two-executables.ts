import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { installExecutable } from './executable.ts'
import { startPostgres } from './postgres-server.ts'

/** Starts two servers that share a new PostgreSQL server and a folder of files. */
export async function startTwoExecutables(environment: Record<string, string> = {}) {
  await using opening = new AsyncDisposableStack()
  const postgres = opening.use(await startPostgres())
  await postgres.query('CREATE DATABASE app')
  const databaseUrl = postgres.url.replace(/postgres$/, 'app')
  const homeport = opening.use(await installExecutable())
  const [first, second] = [join(homeport.folder, 'first'), join(homeport.folder, 'second')]
  const filesDir = join(first, 'files')
  await mkdir(filesDir, { recursive: true, mode: 0o700 })
  await mkdir(second, { mode: 0o700 })
  await symlink(filesDir, join(second, 'files'))
  const start = (dataDir: string) =>
    homeport.start({
      DATABASE_URL: databaseUrl,
      SECRET_KEY: 'the secret key of all tests here',
      DATA_DIR: dataDir,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'error',
      ATTACHMENT_QUOTA_COUNT: '1000000',
      ...environment,
    })
  const servers = await Promise.all([start(first), start(second)])
  const stack = opening.move()
  return {
    postgres,
    databaseUrl,
    filesDir,
    servers,
    urls: servers.map(({ url }) => url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
