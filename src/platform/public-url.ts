import type { Config } from '../config/config.ts'

/** The server's public URL: never the Host of a request, which the client chooses. */
export function publicUrl({ baseUrl, port }: Config): string {
  return baseUrl ?? `http://localhost:${port}`
}

/** Null when the console is off. */
export function findConsoleUrl(config: Config): string | null {
  const { consolePort } = config
  if (!config.console) return null
  if (consolePort === null) return `${publicUrl(config)}/console`
  // Through a tunnel, unless this process terminates TLS: its certificate is for the public name.
  const url = new URL('/console', config.isTls ? publicUrl(config) : 'http://localhost')
  url.port = String(consolePort)
  return url.href
}
