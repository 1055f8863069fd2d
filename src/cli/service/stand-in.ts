import type { Subprocess } from 'bun'
import type { Config } from '../../config/config.ts'

/** A server that was started to replace another one. */
export type Next = Pick<Subprocess, 'pid' | 'exited'>
type Reply = { pid: number } | { exitCode: number } | { code: string }

/** Identifies a stand-in: other managers, such as pm2, also have a channel to this process. */
const GREETING = 'homeport stands in for you'
const POLL_MS = 200
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

let newest: Subprocess | null = null
let running = 0
let lastExitCode = 0

let hasStandIn = false

/** Detects whether the parent stands in for this process, which then ends with its parent: nothing else would find it. */
export function detectStandIn() {
  process.on('message', (message) => {
    if (message !== GREETING) return
    hasStandIn = true
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  })
}

/** A service manager other than systemd would treat the exit as the end of the service. */
export function mustStandIn({ notifySocket }: Config): boolean {
  return process.pid === 1 || (notifySocket === null && !hasStandIn)
}

/** Starts a server, through the stand-in if one started this server, so that the stand-in learns the exit code. */
export async function startNext(command: string[], config: Config): Promise<Next> {
  if (!hasStandIn) return spawn(command, mustStandIn(config))
  const started = Promise.withResolvers<number>()
  const ended = Promise.withResolvers<number>()
  process.on('message', (reply: Reply) => {
    if ('pid' in reply) started.resolve(reply.pid)
    else if ('code' in reply) started.reject(reply)
    else ended.resolve(reply.exitCode)
  })
  process.send?.(command)
  const pid = await started.promise
  return { pid, exited: ended.promise }
}

function spawn(command: string[], isStandIn: boolean): Subprocess {
  const supervised = {
    // We pass signals on: a terminal would send them twice.
    detached: true,
    ipc: (next: string[], requester: Subprocess) => void spawnFor(requester, next),
  }
  const child = Bun.spawn(command, {
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(isStandIn ? supervised : {}),
  })
  if (isStandIn) child.send(GREETING)
  else child.unref()
  newest = child
  running++
  void child.exited.then((code) => {
    running--
    lastExitCode = code
  })
  return child
}

async function spawnFor(requester: Subprocess, command: string[]) {
  try {
    const next = spawn(command, true)
    reply(requester, { pid: next.pid })
    reply(requester, { exitCode: await next.exited })
  } catch (error) {
    reply(requester, { code: String((error as { code?: string }).code) })
  }
}

function reply(requester: Subprocess, message: Reply) {
  if (requester.exitCode === null && requester.signalCode === null) requester.send(message)
}

/** Stays until the servers that replaced this one have ended, passing signals on. Returns the last exit code. */
export async function standIn(
  findServer: () => Promise<{ pid: number } | null>,
  isStopping: boolean,
): Promise<number> {
  const passOn = async (signal: NodeJS.Signals) => {
    const serving = await findServer()
    // The server may have exited in the meantime.
    if (serving === null) newest?.kill(signal)
    else process.kill(serving.pid, signal)
  }
  for (const signal of SIGNALS.filter((name) => process.listenerCount(name) > 0))
    process.on(signal, () => void passOn(signal).catch(() => {}))
  if (isStopping) await passOn('SIGTERM')
  while (running > 0) await Bun.sleep(POLL_MS)
  return lastExitCode
}
