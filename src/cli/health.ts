import { EXIT, type LocalCommand } from './command.ts'

export const health: LocalCommand = {
  name: 'health',
  summary: 'Ask the server on this machine whether it lives: exit 0 or 1',
  run: async (config) => {
    const { host, port } = config()
    const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
    const name = address.includes(':') ? `[${address}]` : address
    try {
      const signal = AbortSignal.timeout(3_000)
      const { ok } = await fetch(`http://${name}:${port}/health`, { signal })
      console.log(ok ? 'ok' : 'failing')
      return ok ? EXIT.done : EXIT.failed
    } catch {
      process.stderr.write(`No server answers on ${name}:${port}.\n`)
      return EXIT.failed
    }
  },
}
