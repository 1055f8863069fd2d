import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { register, uploadText } from '../support/requests.ts'
import { startS3 } from '../support/s3-server.ts'
import { until } from '../support/until.ts'

const ACCOUNT = { bucket: 'homeport', accessKeyId: 'id', secretAccessKey: 'secret' }

beforeAll(buildExecutable, 300_000)

test.skipIf(isOnPostgres)(
  'a backup contains every attachment, including those uploaded while it copies an object store',
  async () => {
    await using homeport = await installExecutable()
    await using s3 = await startS3(ACCOUNT)
    const environment = {
      FILES_URL: `s3://homeport/files?endpoint=${s3.url}`,
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'secret',
    }
    const server = await homeport.start({ ...environment, RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    await uploadText(server, accessToken, 'before')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    s3.faults.held = held
    const backup = homeport.run(['backup', '--out', 'backup.tar'], environment)
    await until(() => s3.requests.GET > 0, 'the file is not fetched')
    await uploadText(server, accessToken, 'during')
    release()
    expect((await backup).exitCode).toBe(0)
    await server.stop()
    const restored = { DATA_DIR: 'restored' }
    const trusted = ['restore', 'backup.tar', '--yes', '--trust']
    expect((await homeport.run(trusted, restored)).exitCode).toBe(0)
    const folder = join(homeport.folder, 'restored')
    using database = new Database(join(folder, 'homeport.db'))
    const keys = database.query('SELECT key FROM attachments').values().flat() as string[]
    expect(keys).not.toBeEmpty()
    const paths = keys.map((key) => join(folder, 'files', key.slice(0, 1), key))
    expect(paths.filter((path) => !existsSync(path))).toEqual([])
  },
  30_000,
)
