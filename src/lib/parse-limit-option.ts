import { UsageError } from './command.ts'

/** The number behind an option, such as `--limit`. Throws `UsageError` for anything but 1 to 999999. */
export function parseLimitOption(text: string, option = '--limit'): number {
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`${option} takes a number from 1 to 999999.`)
  return Number(text)
}
