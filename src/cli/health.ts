import { EXIT, type LocalCommand } from './command.ts'
import { localUrl } from './local-url.ts'

export const health: LocalCommand = {
  name: 'health',
  summary: 'Ask the server on this machine whether it is ready, as /ready says: exit 0 or 1',
  run: async (config, { json }) => {
    const { host, port } = config()
    const url = localUrl(host, port, '127.0.0.1')
    try {
      const reply = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(3_000) })
      const parts = (await reply.json()) as Record<string, string>
      console.log(json ? JSON.stringify(parts) : describe(parts))
      return reply.ok ? EXIT.done : EXIT.failed
    } catch {
      process.stderr.write(`No server answers on ${url}.\n`)
      return EXIT.failed
    }
  },
}

function describe(parts: Record<string, string>): string {
  return Object.entries(parts)
    .map(([name, state]) => `${name} ${state}`)
    .join(', ')
}
