import { connect } from 'bun'

/** The load generator's command line argument, as JSON. */
export type Load = {
  port: number
  connections: number
  seconds: number
  /**
   * A complete HTTP/1.1 request. `{{id}}` becomes a 12-digit number that is new for every request,
   * `{{member}}` one of 100,000 such numbers in turn, and `{{time}}` the time in ms.
   */
  request: string
  /** How far `{{time}}` lies in the past, in ms; 0 by default. */
  age?: number
  /**
   * A JSON file of requests to send instead of `request`, each of them once. The load ends
   * after the last one.
   */
  file?: string
}

export type LoadResult = {
  requests: number
  perSecond: number
  p50: number
  p99: number
  /** The latency of the slowest request. */
  max: number
  failed: number
}

/** The placeholders of a request, and their number of digits. */
const DIGITS = { '{{id}}': 12, '{{member}}': 12, '{{time}}': 13 }
type Placeholder = keyof typeof DIGITS
const PLACEHOLDER = /\{\{(?:id|member|time)\}\}/g
const MEMBERS = 100_000

/**
 * Keeps each connection busy with one request at a time, over bare sockets: the generator must
 * cost less than what it measures.
 */
async function generate(load: Load): Promise<LoadResult> {
  const { port, connections, seconds, request, file, age = 0 } = load
  const queued = file === undefined ? null : await readRequests(file)
  const placeholders = [...request.matchAll(PLACEHOLDER)].map(
    ([placeholder]) => placeholder as Placeholder,
  )
  const parts = request.split(PLACEHOLDER).map((part) => Buffer.from(part))
  let lastId = (Date.now() % 1e6) * 1e6
  const latencies: number[] = []
  let failed = 0
  const end = performance.now() + seconds * 1000
  const allClosed = Promise.withResolvers<void>()
  let open = connections

  for (let index = 0; index < connections; index++) {
    let sentAt = 0
    let head = Buffer.alloc(0)
    let missing: number | null = null
    await connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        open: send,
        data(socket, chunk) {
          // After the head only the length is counted, so that large responses are not copied.
          if (missing === null) {
            head = head.length === 0 ? Buffer.from(chunk) : Buffer.concat([head, chunk])
            const size = replySize(head)
            if (size === null) return
            missing = size - head.length
          } else missing -= chunk.length
          if (missing > 0) return
          latencies.push(performance.now() - sentAt)
          if (head.subarray(9, 12).toString() !== '200') failed++
          head = Buffer.alloc(0)
          missing = null
          if (performance.now() < end && queued?.length !== 0) send(socket)
          else socket.end()
        },
        close() {
          if (--open === 0) allClosed.resolve()
        },
      },
    })

    function send(socket: { write(data: Uint8Array): number }) {
      sentAt = performance.now()
      socket.write(
        queued?.pop() ?? (parts.length === 1 ? (parts[0] as Buffer) : fillTemplate(++lastId)),
      )
    }
  }
  const start = performance.now()
  await allClosed.promise
  const elapsed = (performance.now() - start) / 1000
  latencies.sort((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  const requests = latencies.length
  return {
    requests,
    perSecond: requests / elapsed,
    p50: quantile(0.5),
    p99: quantile(0.99),
    max: latencies.at(-1) ?? 0,
    failed,
  }

  function fillTemplate(id: number): Buffer {
    const numbers: Record<Placeholder, number> = {
      '{{id}}': id,
      '{{member}}': (id * 7_919) % MEMBERS,
      '{{time}}': Date.now() - age,
    }
    const filled = placeholders.map((placeholder) =>
      Buffer.from(String(numbers[placeholder]).padStart(DIGITS[placeholder], '0')),
    )
    return Buffer.concat(
      parts.flatMap((part, at) => (at === 0 ? [part] : [filled[at - 1] as Buffer, part])),
    )
  }
}

async function readRequests(file: string): Promise<Buffer[]> {
  const requests: string[] = await Bun.file(file).json()
  return requests.map((text) => Buffer.from(text))
}

/** The length of the response at the start of `bytes`, or null if its head is incomplete. */
export function replySize(bytes: Buffer): number | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))
  return headEnd + 4 + Number(length?.[1] ?? 0)
}

/** A text's length with placeholders filled in, for the Content-Length. */
export function filledLength(text: string): number {
  return Buffer.byteLength(
    text.replace(PLACEHOLDER, (placeholder) => '0'.repeat(DIGITS[placeholder as Placeholder])),
  )
}

if (import.meta.main) {
  console.log(JSON.stringify(await generate(JSON.parse(process.argv[2] ?? '{}'))))
}
