import { amount, flag, integer, path, setting, text, value } from '../setting.ts'
import { origin, POSTGRES_URL, postgresUrl, s3Url } from '../values.ts'
import { ORIGIN } from './network.ts'

const GIBIBYTE = 1024 ** 3
export const S3_URL = 's3://bucket/prefix?endpoint=https://…&region=…'

export const storageSettings = {
  dataDir: setting('DATA_DIR', path, 'the database, files and secrets', { shown: '`./data`' }),
  databaseUrl: setting(
    'DATABASE_URL',
    value(`a URL such as ${POSTGRES_URL}`, postgresUrl),
    'a PostgreSQL server instead of SQLite, for several instances',
    { shown: 'unset: SQLite in `DATA_DIR`', page: 'scaling.md' },
  ),
  databasePool: setting(
    'DATABASE_POOL',
    integer(3, 500, 24),
    'the maximum number of connections from this instance to PostgreSQL',
  ),
  secretKey: setting(
    'SECRET_KEY',
    text('at least 32 characters, for example from "openssl rand -hex 32"', /^.{32,}$/s),
    'encrypts the secrets that instances share in PostgreSQL; the same for every instance',
  ),
  instance: setting('INSTANCE', text('a name'), 'the name of this instance in logs and metrics', {
    shown: 'the host name with `DATABASE_URL`',
  }),
  filesUrl: setting(
    'FILES_URL',
    value(S3_URL, s3Url),
    'an object store for files instead of the disk, for several instances: `s3://bucket/prefix?endpoint=…&region=…`',
    { shown: 'unset: the local disk', page: 'scaling.md' },
  ),
  s3AccessKeyId: setting('S3_ACCESS_KEY_ID', text('a key id'), 'the credentials of object stores', {
    shown: '`AWS_ACCESS_KEY_ID`',
  }),
  s3SecretAccessKey: setting('S3_SECRET_ACCESS_KEY', text('a key'), 'their secret', {
    shown: '`AWS_SECRET_ACCESS_KEY`',
  }),
  s3SessionToken: setting(
    'S3_SESSION_TOKEN',
    text('a token'),
    'the token of temporary credentials; it is used only with its own keys',
    { shown: '`AWS_SESSION_TOKEN`' },
  ),
  filesCacheBytes: setting(
    'FILES_CACHE_BYTES',
    amount('bytes', GIBIBYTE),
    'how much of the object store is cached on this disk',
  ),
  filesPublicUrl: setting(
    'FILES_PUBLIC_URL',
    value(ORIGIN, origin),
    'a CDN that fetches public files from this server',
    { shown: '`BASE_URL`' },
  ),
  attachmentQuotaBytes: setting(
    'ATTACHMENT_QUOTA_BYTES',
    amount('bytes', GIBIBYTE),
    'storage per user; image variants count too, but are evicted to make room for uploads',
  ),
  attachmentQuotaCount: setting('ATTACHMENT_QUOTA_COUNT', amount('files', 1_000), 'files per user'),
  minFreeBytes: setting(
    'MIN_FREE_BYTES',
    amount('bytes', GIBIBYTE / 4),
    'below this much free disk space, uploads get 507; everything else keeps working',
  ),
  allowedFileSystem: setting(
    'ALLOW_FILE_SYSTEM',
    text('a name such as btrfs'),
    'the copy-on-write file system (`btrfs`, `bcachefs`, `nilfs2`) that `DATA_DIR` may be on although a full disk crashes the server there',
  ),
  nativeDir: setting(
    'NATIVE_DIR',
    path,
    'where native libraries (images, password hashing) are unpacked; needs a mount that allows execution',
    { shown: '`DATA_DIR/native`' },
  ),
  litestream: setting('LITESTREAM', flag(false), '`on` while Litestream replicates the database', {
    page: 'backups.md#continuous-replication',
  }),
}
