import type { Config } from '../config.ts'

/** Where the pages are: never the Host of a request, which the client chooses. */
export function publicUrl({ baseUrl, port }: Config): string {
  return baseUrl ?? `http://localhost:${port}`
}

/** Where the console is; null where it is off. */
export function consoleUrlOf(config: Config): string | null {
  const { consolePort } = config
  if (!config.console) return null
  const own = consolePort === null ? publicUrl(config) : `http://localhost:${consolePort}`
  return `${own}/console`
}
