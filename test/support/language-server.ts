import { pathToFileURL } from 'node:url'

/** TypeScript's language server, which editors ask for the texts that they show. */
export async function startLanguageServer(compiler: string, folder: string) {
  const server = Bun.spawn([process.execPath, compiler, '--lsp', '--stdio'], {
    cwd: folder,
    stdin: 'pipe',
    stderr: 'ignore',
  })
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  const pending = new Map<number, (result: any) => void>()
  void readMessages()
  const capabilities = { textDocument: { hover: { contentFormat: ['markdown'] } } }
  const rootUri = pathToFileURL(folder).href
  await request('initialize', { processId: process.pid, rootUri, capabilities })
  send({ method: 'initialized', params: {} })
  return { open, hover, [Symbol.dispose]: () => server.kill() }

  function open(path: string, text: string) {
    const document = { uri: pathToFileURL(path).href, languageId: 'typescript', version: 1, text }
    send({ method: 'textDocument/didOpen', params: { textDocument: document } })
  }

  /** The text that an editor shows for the word at a position: the type in a code block, then the documentation. */
  async function hover(path: string, line: number, character: number): Promise<string> {
    const textDocument = { uri: pathToFileURL(path).href }
    const position = { line, character }
    const result = await request('textDocument/hover', { textDocument, position })
    return result?.contents?.value ?? ''
  }

  function request(method: string, params: object) {
    const id = pending.size
    // biome-ignore lint/suspicious/noExplicitAny: results of every shape
    const reply = new Promise<any>((resolve) => pending.set(id, resolve))
    send({ id, method, params })
    return reply
  }

  function send(message: object) {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
    server.stdin.flush()
  }

  async function readMessages() {
    let rest = Buffer.alloc(0)
    for await (const chunk of server.stdout) {
      rest = Buffer.concat([rest, chunk])
      for (;;) {
        const end = rest.indexOf('\r\n\r\n')
        const length = Number(/Content-Length: (\d+)/.exec(rest.toString('latin1', 0, end))?.[1])
        if (end < 0 || rest.length < end + 4 + length) break
        receive(JSON.parse(rest.toString('utf8', end + 4, end + 4 + length)))
        rest = rest.subarray(end + 4 + length)
      }
    }
  }

  function receive({ id, method, result }: { id?: number; method?: string; result?: unknown }) {
    if (id === undefined) return
    // The server sends requests too, such as for its settings.
    if (method === undefined) pending.get(id)?.(result)
    else send({ id, result: null })
  }
}
