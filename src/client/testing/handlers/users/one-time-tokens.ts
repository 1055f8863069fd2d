import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { State } from '../../state.ts'

/** How many minutes a link, a code or a challenge is valid, by its purpose. */
const LIFETIME_MINUTES = {
  'verify-email': 24 * 60,
  'reset-password': 30,
  'email-code': 10,
  'two-factor': 5,
}
type Purpose = keyof typeof LIFETIME_MINUTES

/** `userId` is empty for an e-mail code, whose account may not exist yet. */
type Token = {
  purpose: Purpose
  userId: string
  email: string | null
  code: string
  /** The guest whose token was sent with the first step. */
  bearerId: string
  failures: number
  expiresAt: number
}

const MAX_FAILURES = 5

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

export function createOneTimeTokens({ clock }: State) {
  const tokens = new Map<string, Token>()
  let count = 0
  return { issue, find, consume, countFailure, revoke, remove }

  /** A user has only one link for verifying an address: the latest. */
  function issue(
    purpose: Purpose,
    owner: Partial<Pick<Token, 'userId' | 'email' | 'bearerId' | 'code'>>,
  ): string {
    const { userId = '', email = null, bearerId = '', code = '' } = owner
    if (purpose === 'verify-email')
      drop((token) => token.userId === userId && isVerification(token))
    const token = `fake-${purpose}-${++count}`
    const expiresAt = clock.now + LIFETIME_MINUTES[purpose] * MINUTE_MS
    tokens.set(token, { purpose, userId, email, bearerId, code, failures: 0, expiresAt })
    return token
  }

  /** A valid token; null if it was used, has expired or is for another purpose. */
  function find(purpose: Purpose, token: string): Token | null {
    const found = tokens.get(token)
    return found?.purpose === purpose && found.expiresAt > clock.now ? found : null
  }

  function consume(purpose: Purpose, token: string): Token | null {
    const found = find(purpose, token)
    if (found) tokens.delete(token)
    return found
  }

  /** Counts a wrong code; the fifth one voids the token. */
  function countFailure(token: string) {
    const found = tokens.get(token)
    if (found && ++found.failures >= MAX_FAILURES) tokens.delete(token)
  }

  function revoke(userId: string) {
    drop((token) => token.userId === userId && !isVerification(token))
  }

  function remove(userId: string) {
    drop((token) => token.userId === userId)
  }

  function drop(isDropped: (token: Token) => boolean) {
    for (const [name, token] of tokens) if (isDropped(token)) tokens.delete(name)
  }
}

function isVerification({ purpose }: Token): boolean {
  return purpose === 'verify-email'
}
