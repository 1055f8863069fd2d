import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SubmissionResult } from '../../../src/features/stores/model.ts'
import type { Submit } from '../../../src/features/stores/purchases/submissions.ts'

type Access = { productId: string | null; effectiveEndAt: string | null }

/** The operations of the server that the soak calls. */
export type Server = {
  runJobs: (due: { isHourly: boolean; isQuarterDaily: boolean }) => Promise<void>
  submit: (input: {
    userId: string
    purchases: Parameters<Submit>[1]
  }) => Promise<SubmissionResult[]>
  readAccess: (input: { userIds: string[] }) => Promise<Access[][]>
  readPurchases: (input: object) => Promise<{ purchaseKey: string; state: unknown }[]>
  rebuild: (input: object) => Promise<number>
  /** The id of this Homeport server at Stripe. */
  readServerId: (input: object) => Promise<string>
}

export type ServerProcess = Awaited<ReturnType<typeof startServer>>

/** A server in its own process, on the virtual clock. `kill` ends it without warning and starts it again. */
export async function startServer(settings: Record<string, string>) {
  const folder = await mkdtemp(join('/dev/shm', 'homeport-soak-'))
  const clockFile = join(folder, 'clock')
  await writeFile(clockFile, new Uint8Array(new Float64Array(1).buffer))
  const shared = new Float64Array(Bun.mmap(clockFile).buffer, 0, 1)
  let child = await spawn()
  return {
    setTime(ms: number) {
      shared[0] = ms
    },
    send,
    post,
    call,
    kill,
    residentMemory: async () => {
      const status = await Bun.file(`/proc/${child.pid}/status`).text()
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
    },
    async [Symbol.asyncDispose]() {
      child.process.kill('SIGKILL')
      await child.process.exited
      await rm(folder, { recursive: true, force: true })
    },
  }

  async function spawn() {
    const started = Bun.spawn(['bun', join(import.meta.dir, 'server.ts'), clockFile], {
      stdout: 'pipe',
      stderr: Bun.file(join(folder, 'log')),
      env: {
        ...process.env,
        DATA_DIR: join(folder, 'data'),
        RATES_PROVIDER: 'off',
        MIN_FREE_BYTES: '0',
        LOG_LEVEL: 'error',
        ...settings,
      },
    })
    const { value } = await started.stdout.getReader().read()
    if (value === undefined) throw new Error(await Bun.file(join(folder, 'log')).text())
    const port = Number(new TextDecoder().decode(value))
    return { process: started, pid: started.pid, url: `http://127.0.0.1:${port}` }
  }

  async function kill() {
    child.process.kill('SIGKILL')
    await child.process.exited
    child = await spawn()
  }

  /** The status of the response; 0 if the server did not answer. */
  async function send(path: string, body: string, headers: Record<string, string>) {
    try {
      const reply = await fetch(child.url + path, { method: 'POST', headers, body })
      await reply.arrayBuffer()
      return reply.status
    } catch {
      return 0
    }
  }

  function post(path: string, json: unknown, token?: string): Promise<number> {
    return send(path, JSON.stringify(json), {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    })
  }

  /** Null if the server did not answer. */
  async function call<Name extends keyof Server>(
    name: Name,
    input: Parameters<Server[Name]>[0],
  ): Promise<Awaited<ReturnType<Server[Name]>> | null> {
    try {
      const reply = await fetch(`${child.url}/-/${name}`, {
        method: 'POST',
        body: JSON.stringify(input),
      })
      if (!reply.ok) throw new Error(await reply.text())
      return (await reply.json()) as Awaited<ReturnType<Server[Name]>>
    } catch {
      return null
    }
  }
}
