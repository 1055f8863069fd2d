/** A suffix for tests of these faults in docs/internal/faults.md: `bun test -t 'fault 72\b'` runs the tests of fault 72. */
export function fault(...numbers: (number | string)[]): string {
  return `(${numbers.map((number) => `fault ${number}`).join(', ')})`
}
