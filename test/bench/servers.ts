import { dirname, join } from 'node:path'
import type { Subprocess } from 'bun'

export const WEBHOOK_TOKEN = 'bench-token-0123456789'
export const EXECUTABLE = join(import.meta.dir, '..', '..', 'dist', 'test', 'homeport')

export type RunningServer = {
  port: number
  pid: number
  readyAfter: number
  stop: () => Promise<void>
}

/** Starts the built executable on `dataDir` and waits until it is ready; `readyAfter` in ms. */
export async function startHomeport(
  dataDir: string,
  port: number,
  environment: Record<string, string> = {},
): Promise<RunningServer> {
  const startedAt = performance.now()
  const server = Bun.spawn([EXECUTABLE, 'serve'], {
    cwd: dirname(dataDir),
    env: {
      PORT: String(port),
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      WEBHOOK_TOKEN,
      RATES_PROVIDER: 'off',
      RATE_LIMITS: 'off',
      ...environment,
    },
    stdout: Bun.file('/dev/null'),
    stderr: 'inherit',
  })
  await waitUntilOk(`http://127.0.0.1:${port}/ready`)
  return toRunningServer(server, port, performance.now() - startedAt)
}

/** Starts the bare program on a data directory that Homeport created and closed. */
export async function startBare(dataDir: string, port: number): Promise<RunningServer> {
  const startedAt = performance.now()
  const { d: _private, ...key } = await Bun.file(
    join(dataDir, 'secrets', 'access-token.jwk'),
  ).json()
  const program = join(import.meta.dir, 'bare.ts')
  const database = join(dataDir, 'homeport.db')
  const server = Bun.spawn(
    [process.execPath, program, String(port), database, JSON.stringify(key), WEBHOOK_TOKEN],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  await server.stdout.getReader().read()
  return toRunningServer(server, port, performance.now() - startedAt)
}

/** Runs a command of the executable; `peak` is the peak memory of its processes, in MB. */
export async function runHomeport(
  dataDir: string,
  args: string[],
  environment: Record<string, string> = {},
) {
  const command = Bun.spawn([EXECUTABLE, ...args], {
    cwd: dirname(dataDir),
    env: { DATA_DIR: dataDir, RATES_PROVIDER: 'off', ...environment },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  // Not the command's maxRSS, which includes its parent's memory at the start.
  let peak = 0
  const sampler = setInterval(async () => {
    peak = Math.max(peak, await memoryOfAll(command.pid).catch(() => 0))
  }, 20)
  const stdout = await new Response(command.stdout).text()
  const exitCode = await command.exited
  clearInterval(sampler)
  if (exitCode !== 0) throw new Error(`homeport ${args.join(' ')} failed`)
  return { stdout, peak: Math.round(peak / 1e6) }
}

/** Resident memory of a process and its children, in bytes. */
async function memoryOfAll(pid: number): Promise<number> {
  const all = await Promise.all([pid, ...(await childrenOf(pid))].map(residentMemory))
  return all.reduce((sum, bytes) => sum + bytes, 0)
}

/** The running child processes of a process (Linux). */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await Bun.file(`/proc/${pid}/task/${pid}/children`).text()
  return text.trim().split(' ').filter(Boolean).map(Number)
}

function toRunningServer(server: Subprocess, port: number, readyAfter: number): RunningServer {
  const stop = async () => {
    server.kill('SIGTERM')
    await server.exited
  }
  return { port, pid: server.pid, readyAfter, stop }
}

/** Retries until the response is successful, which means the server is up. */
export async function waitUntilOk(url: string) {
  for (let tries = 0; tries < 5_000; tries++) {
    const reply = await fetch(url).catch(() => null)
    if (reply?.ok) return
    await Bun.sleep(2)
  }
  throw new Error(`${url} did not become ready`)
}

/** Resident memory of a process, in bytes. */
export async function residentMemory(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text()
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024
}

/** CPU time of a process, all threads together, in ms. */
export async function cpuTime(pid: number): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text()
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // utime and stime (proc(5), fields 14 and 15), in ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Delivers an event from the billing provider to the server on `port`. */
export async function deliver(port: number, event: object) {
  const reply = await fetch(`http://127.0.0.1:${port}/api/webhooks/billing/v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${WEBHOOK_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ api_version: '1.0', event }),
  })
  if (!reply.ok) throw new Error(await reply.text())
}
