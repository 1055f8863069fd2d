/** Where a server that listens on `host` is reached from this machine: a wildcard is no address to open. */
export function localUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
