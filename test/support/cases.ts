/** How many cases a test tries: a few, or all where minutes do not count, see `test/fault/all-cases.fault.ts`. */
export function cases(few: number, all: number): number {
  return process.env['ALL_CASES'] ? all : few
}
