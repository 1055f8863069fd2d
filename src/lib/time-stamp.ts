/** A time for a file name, in UTC to the second: `20261121T190000Z`. Sorts chronologically. */
export function timeStamp(at: Date): string {
  return at.toISOString().replaceAll(/\.\d+|[-:]/g, '')
}
