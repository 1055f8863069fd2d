import { beforeAll, expect } from 'bun:test'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { register, uploadText } from '../support/requests.ts'
import { startS3 } from '../support/s3-server.ts'

beforeAll(buildExecutable, 300_000)

const ACCOUNT = { bucket: 'homeport', accessKeyId: 'id', secretAccessKey: 'secret' }
const KEYS = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' }

onSqlite('on a database server the data directory holds no data')(
  'copies files only for an existing data directory, which can then be backed up',
  async () => {
    await using homeport = await installExecutable()
    await using s3 = await startS3(ACCOUNT)
    const { run, folder } = homeport
    const FILES_URL = `s3://homeport/files?endpoint=${s3.url}`
    const nowhere = await run(['files', 'copy', '--from', FILES_URL], KEYS)
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([
      1,
      expect.stringContaining('There is no data in'),
    ])
    const server = await homeport.start()
    const { accessToken } = await register(server, 'ann@example.com')
    await uploadText(server, accessToken, 'kept')
    await server.stop()

    const early = await run(['backup', '--out', 'early.tar'], { ...KEYS, FILES_URL })
    expect([early.exitCode, early.stderr]).toEqual([
      1,
      expect.stringContaining('has attachments: back them up without FILES_URL'),
    ])
    expect((await run(['files', 'copy', '--to', FILES_URL], KEYS)).exitCode).toBe(0)
    expect((await run(['files', 'copy', '--from', FILES_URL], KEYS)).exitCode).toBe(0)
    await Bun.write(join(folder, 'data', 'files', 'cache', 'left.webp'), 'over')
    await Bun.write(join(folder, 'data', 'files', 'probe'), '')
    const backup = await run(['backup', '--out', 'backup.tar'])
    expect(backup.exitCode).toBe(0)
    const verified = await run(['restore', '--verify', 'backup.tar'])
    expect([verified.exitCode, verified.stderr]).toEqual([0, ''])
  },
  30_000,
)

onSqlite('on a database server the data directory holds no secrets')(
  'a backup without the secrets fails',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    await rename(join(homeport.folder, 'data', 'secrets'), join(homeport.folder, 'secrets'))
    const { exitCode, stderr } = await homeport.run(['backup', '--out', 'backup.tar'])
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain('secrets')
  },
  30_000,
)
