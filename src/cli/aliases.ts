/** Former words of commands, by which scripts still call them. */
const CURRENT_WORDS: Record<string, string> = {
  'webhooks resend': 'deliveries resend',
}

/** Replaces the former words at the start of a command line. */
export function replaceFormerWords(argv: string[]): string[] {
  const current = CURRENT_WORDS[argv.slice(0, 2).join(' ')]
  return current === undefined ? argv : [...current.split(' '), ...argv.slice(2)]
}
