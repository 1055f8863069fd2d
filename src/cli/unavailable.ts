import { AppError } from '../lib/errors.ts'

/** What to do about a reply of the object store or the database server. */
const ADVICE: [RegExp, string][] = [
  [
    /AccessDenied|SignatureDoesNotMatch|InvalidAccessKeyId|InvalidToken|with 403/,
    'check S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY and the permissions of the key',
  ],
  [/NoSuchBucket/, 'create the bucket, or correct FILES_URL'],
  [/RequestTimeTooSkewed/, 'synchronize the clock ("timedatectl set-ntp true")'],
  [
    /too many clients|connection slots|too many connections/,
    "raise the server's max_connections, or lower DATABASE_POOL",
  ],
]

/** The message of an error for the operator: with the reply of an unavailable server, and what to do. */
export function describeForOperator(error: Error): string {
  if (!(error instanceof AppError) || error.code !== 'unavailable') return error.message
  const reason = error.cause instanceof Error ? error.cause.message : ''
  if (reason === '') return error.message
  const advice = ADVICE.find(([pattern]) => pattern.test(reason))?.[1]
  const service = error.message.replace(/ Try again in a moment\.$/, '')
  return `${service} ${reason}${advice === undefined ? '' : `: ${advice}`}`.replace(/\.?$/, '.')
}
