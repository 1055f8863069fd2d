import type { Config } from '../config.ts'

/** The server's public URL: never the Host of a request, which the client chooses. */
export function publicUrl({ baseUrl, port }: Config): string {
  return baseUrl ?? `http://localhost:${port}`
}

/** The console's URL; null when the console is off. */
export function consoleUrlOf(config: Config): string | null {
  const { consolePort } = config
  if (!config.console) return null
  const base = consolePort === null ? publicUrl(config) : `http://localhost:${consolePort}`
  return `${base}/console`
}
