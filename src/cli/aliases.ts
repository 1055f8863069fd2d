/** Earlier names of commands, which scripts may still use. */
const CURRENT_WORDS: Record<string, string> = {
  'events reconcile': 'users refresh-purchases',
  'events retry': 'events replay-matching',
  'faqs import': 'faqs publish',
  'plans import': 'plans publish',
  'purchases ask': 'purchases refresh',
  'purchases give': 'purchases link',
  'purchases take-back': 'purchases unlink',
  'settings import': 'settings publish',
  'user note': 'users add-note',
  'webhooks deliveries': 'deliveries list',
  'webhooks resend': 'deliveries resend',
}
const CURRENT_GROUPS: Record<string, string> = { user: 'users' }

export function resolveAliases(argv: string[]): string[] {
  const [first = '', second = '', ...others] = argv
  const current = CURRENT_WORDS[`${first} ${second}`]
  if (current !== undefined) return [...current.split(' '), ...others]
  const group = CURRENT_GROUPS[first]
  return group === undefined ? argv : [group, ...argv.slice(1)]
}
