const POLL_MS = 10
const CLIENTS = 6

/** Sends a request over a unix socket, as a proxy does. */
export function askSocket(path: string, isKept = false): Promise<Response> {
  const init = { unix: path, keepalive: isKept } as BunFetchRequestInit
  return fetch('http://x/api/user/app_settings/v1', init)
}

/** Waits until a server answers at the socket. */
export async function untilAnswering(path: string) {
  while (!(await askSocket(path).catch(() => null))?.ok) await Bun.sleep(POLL_MS)
}

/** Sends requests on old and new connections. The returned function stops, and reports what happened. */
export function loadSocket(path: string) {
  let isRunning = true
  let answered = 0
  const refused: string[] = []
  const clients = Array.from({ length: CLIENTS }, async (_, at) => {
    while (isRunning) {
      const reply = await askSocket(path, at % 2 === 0).catch((error) => String(error.code))
      if (typeof reply === 'string') refused.push(reply)
      else if ((await reply.text()) && reply.ok) answered++
      else refused.push(String(reply.status))
      await Bun.sleep(1)
    }
  })
  return async () => {
    isRunning = false
    await Promise.all(clients)
    return { answered, refused }
  }
}
