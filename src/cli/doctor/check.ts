/** The result of a check; `advice` says what to do. */
export type Finding =
  | { state: 'ok'; detail: string }
  | { state: 'warning' | 'failed'; detail: string; advice: string }

export type Check = { name: string; run: () => Promise<Finding> }

export function ok(detail: string): Finding {
  return { state: 'ok', detail }
}

export function warning(detail: string, advice: string): Finding {
  return { state: 'warning', detail, advice }
}

export function failed(detail: string, advice: string): Finding {
  return { state: 'failed', detail, advice }
}

/** Names an error by its code, because messages may contain URLs with secrets. */
export function toReason(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? 'unknown')
}
