type Fields = Record<string, unknown>

const DEADLINE_MS = 10_000

/** The destination of a log that keeps its lines. */
export function createLogLines() {
  const lines: string[] = []
  let written = Promise.withResolvers<void>()
  return { lines, write, logged }

  function write(line: string) {
    lines.push(line)
    written.resolve()
    written = Promise.withResolvers()
  }

  /**
   * Resolves with the `times`th line that matches a pattern or has these fields, once it is written. A request's line
   * follows its response; by then, the request has been measured too.
   */
  async function logged(wanted: RegExp | Fields, times = 1): Promise<Fields> {
    const late = Promise.withResolvers<never>()
    const fail = () =>
      late.reject(new Error(`the log has no line ${times} with ${describe(wanted)}`))
    const timer = setTimeout(fail, DEADLINE_MS)
    try {
      for (;;) {
        const found = lines.filter((line) => matches(line, wanted))[times - 1]
        if (found !== undefined) return JSON.parse(found)
        await Promise.race([written.promise, late.promise])
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

function matches(line: string, wanted: RegExp | Fields): boolean {
  if (wanted instanceof RegExp) return wanted.test(line)
  const fields: Fields = JSON.parse(line)
  return Object.entries(wanted).every(([name, value]) => fields[name] === value)
}

function describe(wanted: RegExp | Fields): string {
  return wanted instanceof RegExp ? String(wanted) : JSON.stringify(wanted)
}
