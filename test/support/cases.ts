/** How many cases a test runs: a few, or all in the slow runs of `test/fault/all-cases.fault.ts`. */
export function cases(few: number, all: number): number {
  return process.env['ALL_CASES'] ? all : few
}
