import { AppError } from '../lib/errors.ts'

/** The error's message for the operator. For an unavailable server, it includes the cause and what to do. */
export function describeForOperator(error: Error): string {
  if (!(error instanceof AppError) || error.code !== 'unavailable') return error.message
  const reason = error.cause instanceof Error ? error.cause.message : ''
  if (reason === '') return error.message
  const service = error.message.replace(/ Try again in a moment\.$/, '')
  return `${service} ${reason}`.replace(/\.?$/, '.')
}
