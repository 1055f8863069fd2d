import { UsageError } from './command.ts'

/** The JSON in a file (`-`: standard input) that was named on the command line. */
export async function readJsonFile(path: string | undefined): Promise<unknown> {
  if (path === undefined) throw new UsageError('Name the file to read.')
  const file = path === '-' ? Bun.stdin : Bun.file(path)
  let text: string
  try {
    text = await file.text()
  } catch {
    throw new UsageError(`${path} cannot be read.`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${path} is not valid JSON: ${(error as Error).message}`)
  }
}

/** JSON as `export` prints it and people edit it. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
