import { join } from 'node:path'
import { filledLength, type Load, type LoadResult } from './load.ts'
import { median } from './median.ts'

/** Interleaved rounds per case, and seconds of load per round. */
export const ROUNDS = 5
export const SECONDS = 3

/** Loads two servers alternately and prints the median of their ratios beside its goal, with both figures. */
export async function compare(name: string, goal: number, ours: Load, theirs: Load) {
  const results: { ours: LoadResult; theirs: LoadResult }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = { ours: await load(ours), theirs: await load(theirs) }
    // The first round is a warm-up for both.
    if (round > 0) results.push(measured)
  }
  const ratio = median(results.map(({ ours, theirs }) => ours.perSecond / theirs.perSecond))
  const figures = describe(results.map((result) => result.ours))
  const rivalFigures = describe(results.map((result) => result.theirs))
  console.log(`${name}: ${ratio.toFixed(2)} (goal ${goal}) — ${figures} against ${rivalFigures}`)
}

/** Loads a server several times and prints the medians. */
export async function measure(name: string, options: Load) {
  const results: LoadResult[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const result = await load(options)
    // The first round is a warm-up.
    if (round > 0) results.push(result)
  }
  const p50 = median(results.map((result) => result.p50))
  console.log(`${name}: ${describe(results)}, p50 ${p50.toFixed(2)} ms`)
}

export async function load(options: Load): Promise<LoadResult> {
  const generator = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'load.ts'), JSON.stringify(options)],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const result: LoadResult = JSON.parse(await new Response(generator.stdout).text())
  if (result.failed > 0) throw new Error(`${result.failed} requests were not answered with 200`)
  return result
}

/** A raw request; the generator fills in its placeholders: see `Load`. */
export function http(method: string, path: string, token?: string, body?: string): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1']
  if (token !== undefined) head.push(`Authorization: Bearer ${token}`)
  if (body !== undefined) {
    head.push('Content-Type: application/json', `Content-Length: ${filledLength(body)}`)
  }
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

function describe(results: LoadResult[]): string {
  const perSecond = Math.round(median(results.map((result) => result.perSecond)))
  const p99 = median(results.map((result) => result.p99))
  return `${perSecond}/s, p99 ${p99.toFixed(2)} ms`
}
