import { join } from 'node:path'
import { WEBHOOK_TOKEN } from './app.ts'
import type { installExecutable } from './executable.ts'

type Homeport = Awaited<ReturnType<typeof installExecutable>>
type Outcome = { acknowledged: string[]; refused: string[]; connections: number }

/** Asks `url` steadily by a keep-alive agent. The function that it returns stops it and tells what became of all. */
export function askSteadily(url: string, rate: number) {
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

/** Restarts the server while `url` is asked, and tells what became of the requests and who serves now. */
export async function restartUnderLoad(
  homeport: Homeport,
  url: string,
  { restarts, rate, pause }: { restarts: number; rate: number; pause: number },
) {
  const stopAsking = askSteadily(url, rate)
  await Bun.sleep(pause)
  let pid = 0
  for (let done = 0; done < restarts; done++) {
    const { stdout, stderr, exitCode } = await homeport.run(['restart', '--json'])
    if (exitCode !== 0) throw new Error(stderr)
    pid = JSON.parse(stdout).pid
    await Bun.sleep(pause)
  }
  return { ...(await stopAsking()), pid }
}
