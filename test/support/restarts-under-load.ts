import { join } from 'node:path'
import { WEBHOOK_TOKEN } from './app.ts'
import type { installExecutable } from './executable.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>
type Outcome = { acknowledged: string[]; refused: string[]; connections: number }

/**
 * Sends requests to `url` at a steady rate from a keep-alive client. The returned function stops
 * the client and returns the outcomes.
 */
export function requestSteadily(url: string, rate: number) {
  const script = join(import.meta.dir, 'keep-alive-client.mjs')
  const client = Bun.spawn(['node', script, url, String(rate), '32', WEBHOOK_TOKEN], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const output = client.stdout.text()
  return async () => {
    await client.stdin.end()
    return JSON.parse(await output) as Outcome
  }
}

/** Restarts the server under load on `url`. Returns the outcomes of the requests and the new server's pid. */
export async function restartUnderLoad(
  homeport: Homeport,
  url: string,
  { restarts, rate, pause }: { restarts: number; rate: number; pause: number },
) {
  const stopRequests = requestSteadily(url, rate)
  await Bun.sleep(pause)
  let pid = 0
  for (let count = 0; count < restarts; count++) {
    const { stdout, stderr, exitCode } = await homeport.run(['restart', '--json'])
    if (exitCode !== 0) throw new Error(stderr)
    pid = JSON.parse(stdout).pid
    await Bun.sleep(pause)
  }
  return { ...(await stopRequests()), pid }
}
