/** A time for the name of a file, to the second in UTC: `20261121T190000Z`. Names in a row are in the order of time. */
export function timeStamp(at: Date): string {
  return at.toISOString().replaceAll(/\.\d+|[-:]/g, '')
}
