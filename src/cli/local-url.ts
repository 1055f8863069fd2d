/** Where a server that listens on `host` is reached from this machine: a wildcard is no address to open. */
export function localUrl(host: string, port: number, loopback = 'localhost'): string {
  const address = host === '0.0.0.0' || host === '::' ? loopback : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
