/** A size in MB, with one decimal below 100 MB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`
}

/** Those of `sentences` whose condition holds: `[isOff && 'It is off.']`. */
export function pickTrue(sentences: (string | false)[]): string[] {
  return sentences.filter((sentence) => sentence !== false)
}
