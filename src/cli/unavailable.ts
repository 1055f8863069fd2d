import { AppError } from '../lib/errors.ts'

/** The message of an error for the operator: with what an unavailable server responded, and what to do. */
export function describeForOperator(error: Error): string {
  if (!(error instanceof AppError) || error.code !== 'unavailable') return error.message
  const reason = error.cause instanceof Error ? error.cause.message : ''
  if (reason === '') return error.message
  const service = error.message.replace(/ Try again in a moment\.$/, '')
  return `${service} ${reason}`.replace(/\.?$/, '.')
}
