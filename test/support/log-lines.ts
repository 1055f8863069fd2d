/** Waits for the first log line with all of `fields`, because a request is logged after its reply. */
export async function waitForLogLine(
  lines: string[],
  fields: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  for (let tries = 0; tries < 250; tries++) {
    const found = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => Object.entries(fields).every(([name, value]) => line[name] === value))
    if (found) return found
    await Bun.sleep(20)
  }
  throw new Error(`the log has no line with ${JSON.stringify(fields)}`)
}
