/** A time for a file name, in UTC to the second: `20261121T190000Z`. Sorts chronologically. */
export function formatTimestamp(at: Date): string {
  return at.toISOString().replaceAll(/\.\d+|[-:]/g, '')
}

/** The instant of an ISO 8601 text; a date means midnight UTC. Null if the text is invalid or there is no such date. */
export function parseTime(text: string): Date | null {
  const [, day = ''] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i.exec(text) ?? []
  const [time, start] = [new Date(text), new Date(day)]
  const isTime = [time, start].every((date) => !Number.isNaN(date.getTime()))
  // `Date` takes 30 February for 2 March.
  return isTime && start.toISOString().startsWith(day) ? time : null
}
