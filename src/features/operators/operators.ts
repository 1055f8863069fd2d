import type { Passwords } from '../../lib/passwords/passwords.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { createOperatorAccounts } from './accounts.ts'
import { createAudit } from './audit.ts'
import { createDemoOperator } from './local/demo-operator.ts'
import { createFirstLink } from './local/first-link.ts'
import { createPasskeys } from './passkeys.ts'
import { createOperatorPassword } from './password.ts'
import type { OperatorsDb } from './schema.ts'
import { createOperatorSessions } from './sessions.ts'
import { createOperatorSignIn } from './sign-in.ts'

type OperatorsDeps = {
  db: OperatorsDb
  passwords: Passwords
  limits: Limits
  sealKey: Uint8Array
  recoveryKey: Uint8Array
  /** For passkeys and authenticator apps. */
  appName: string
  auditRetentionDays: number
  now: () => Date
  newId: () => string
}

export type Operators = ReturnType<typeof createOperators>

export function createOperators(deps: OperatorsDeps) {
  const { db, passwords, limits, sealKey, recoveryKey, appName, now, newId } = deps
  const accounts = createOperatorAccounts({ db, now, newId })
  const firstLink = createFirstLink({ now, newId })
  const sessions = createOperatorSessions({ db, now, newId })
  const passkeys = createPasskeys({ db, appName, now })
  const password = createOperatorPassword({
    db,
    accounts,
    passwords,
    limits,
    sealKey,
    recoveryKey,
    appName,
    now,
  })
  const signIn = createOperatorSignIn({
    db,
    accounts,
    firstLink,
    passkeys,
    password,
    sessions,
    limits,
  })
  const audit = createAudit({ db, retentionDays: deps.auditRetentionDays, now, newId })
  const demo = createDemoOperator({ db, accounts, sessions })
  return { accounts, firstLink, demo, sessions, passkeys, signIn, audit }
}
