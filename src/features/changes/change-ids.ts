const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function isChangeId(text: string): boolean {
  return UUID_V7.test(text)
}

/** When a UUIDv7 was generated, in ms since 1970. */
export function timeOf(changeId: string): number {
  return Number.parseInt(changeId.slice(0, 13).replace('-', ''), 16)
}

/** Text that sorts before every UUIDv7 generated at `at` or later, and after all earlier ones. */
export function firstIdAt(at: number): string {
  const hex = Math.max(0, at).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
