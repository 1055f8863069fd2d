/** What to set, by the store's response; the first match applies. */
const ADVICE: [RegExp, string][] = [
  [
    /RequestTimeTooSkewed|Request has expired|not yet valid/,
    'synchronize the clock ("timedatectl set-ntp true")',
  ],
  [/NoSuchBucket|InvalidBucketName/, 'create the bucket, or correct FILES_URL or BACKUP_DIR'],
  [
    /PermanentRedirect|TemporaryRedirect|MalformedAuth|AuthorizationHeaderMalformed|AuthorizationQueryParametersError|IllegalLocationConstraint|with (30\d|400)$/,
    "set the endpoint and region in FILES_URL or BACKUP_DIR to the bucket's",
  ],
  [/InvalidAccessKeyId/, 'check S3_ACCESS_KEY_ID, for backups BACKUP_S3_ACCESS_KEY_ID if set'],
  [
    /SignatureDoesNotMatch/,
    'check S3_SECRET_ACCESS_KEY, for backups BACKUP_S3_SECRET_ACCESS_KEY if set, and the region',
  ],
  [/InvalidToken|ExpiredToken|TokenRefreshRequired/, 'renew S3_SESSION_TOKEN'],
  [
    /DELETE .*AccessDenied/,
    'give the key the DeleteObject permission, and end the Object Lock or retention of the object',
  ],
  [
    /AccessDenied|AllAccessDisabled|with 403$/,
    'check S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY (for backups BACKUP_S3_…, if set) and the permissions of the key (ListBucket, GetObject, PutObject, DeleteObject)',
  ],
  [/SlowDown|TooManyRequests/, 'the store limits requests: raise its limit, or wait'],
]

/** A failure of the store or the network, or a refusal by the store. The message says what to set, if that is known. */
export class StoreError extends Error {
  readonly isTransient: boolean

  constructor(message: string, isTransient: boolean) {
    const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1]
    super(advice === undefined ? message : `${message.replace(/\.$/, '')}: ${advice}`)
    this.name = 'StoreFault'
    this.isTransient = isTransient
  }
}
