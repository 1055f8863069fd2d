import { UsageError } from './command.ts'

/** The number behind `--limit`. Throws `UsageError` for anything but 1 to 999999. */
export function readLimit(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--limit takes a number from 1 to 999999.')
  return Number(text)
}
