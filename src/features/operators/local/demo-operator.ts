import { equalInConstantTime } from '../../../lib/crypto/hash.ts'
import { AppError } from '../../../lib/errors.ts'
import { newToken, type OperatorAccounts } from '../accounts.ts'
import type { OperatorsDb } from '../schema.ts'
import { type Browser, DEMO_LINK, type OperatorSessions } from '../sessions.ts'

type DemoOperatorDeps = {
  db: OperatorsDb
  accounts: Pick<OperatorAccounts, 'addFirst' | 'hasAny' | 'find' | 'discard'>
  sessions: Pick<OperatorSessions, 'open' | 'acceptDemo'>
}

/** Real operators have a UUID. */
const OPERATOR = { id: 'demo', name: 'demo' }

/**
 * The operator of `serve --demo`, who needs no passkey but a link that works on this machine only, until the process
 * ends. Without --demo, the operator is removed at startup, and sessions from the link are not accepted.
 */
export function createDemoOperator({ db, accounts, sessions }: DemoOperatorDeps) {
  let current: string | null = null
  return { enable, isEnabled, remove, signIn }

  /** Returns the token of the link; null if the database has other operators, and so does not belong to a demo. */
  async function enable(): Promise<string | null> {
    if ((await accounts.find(db.read, OPERATOR.id)) === undefined) {
      if (await accounts.hasAny()) return null
      await db.write((tx) => accounts.addFirst(tx, OPERATOR))
    }
    sessions.acceptDemo()
    current = newToken()
    return current
  }

  function isEnabled(): boolean {
    return current !== null
  }

  /** Also ends the sessions. */
  async function remove() {
    if ((await accounts.find(db.read, OPERATOR.id)) !== undefined)
      await accounts.discard(OPERATOR.id)
  }

  /** Returns the name and the token of the new session. */
  async function signIn(token: string, visitor: Browser & { isLocal: boolean }) {
    const isValid = current !== null && visitor.isLocal && equalInConstantTime(token, current)
    if (!isValid) throw refused()
    const session = await db.write(async (tx) => {
      if ((await accounts.find(tx, OPERATOR.id)) === undefined) throw refused()
      return sessions.open(tx, OPERATOR.id, DEMO_LINK, visitor)
    })
    return { name: OPERATOR.name, session }
  }
}

function refused(): AppError {
  return new AppError(
    'forbidden',
    'This link works until the demo server stops, and only in a browser on its machine. Open the latest link that the server printed.',
  )
}
