import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { AppError } from '../../lib/errors.ts'
import type { Limits, WindowRule } from '../../platform/limits/limits.ts'
import type { OperatorAccounts, OperatorRow } from './accounts.ts'
import type { FirstLink, FirstOperator } from './local/first-link.ts'
import type { Passkeys } from './passkeys.ts'
import type { OperatorPassword } from './password.ts'
import type { OperatorsDb } from './schema.ts'
import { type Browser, type OperatorSession, type OperatorSessions, PASSWORD } from './sessions.ts'

/** `isLocal`: whether the browser runs on this machine. */
type Visitor = Browser & { origin: string; isLocal: boolean }

type Invitation = { operator: FirstOperator; isFirst: boolean }

type Proof =
  | { passkey: AuthenticationResponseJSON }
  | { name: string; password: string; code: string }

export type NewCredentials =
  | { passkey: RegistrationResponseJSON; passkeyName: string }
  | { password: string; code: string; sealed: string }

type OperatorSignInDeps = {
  db: OperatorsDb
  accounts: OperatorAccounts
  firstLink: FirstLink
  passkeys: Passkeys
  password: OperatorPassword
  sessions: OperatorSessions
  limits: Limits
}

/** The name of unknown operators in the audit log; no real operator can have it. */
const UNKNOWN = '(unknown)'
/** Limits how many failed sign-ins of unknown operators the audit log records. */
const UNKNOWN_FAILURE_LIMIT: WindowRule = { name: 'operator-unknown', max: 100, seconds: 60 * 60 }
const PER_IP: WindowRule = { name: 'operator-address', max: 60, seconds: 5 * 60 }

/** Signs operators in: with a setup link first, then with the credentials they chose. */
export function createOperatorSignIn(deps: OperatorSignInDeps) {
  const { db, accounts, firstLink, passkeys, password, sessions, limits } = deps
  return {
    startSetUp,
    setUp,
    startPasskeySignIn,
    signIn,
    findAuditName,
    startProof,
    prove,
    addPasskey,
    removePasskey,
    startAddPasskey,
  }

  /** The operator of a setup link, with the options for setting up a passkey or a password. */
  async function startSetUp(token: string, visitor: Visitor) {
    await countAttempt(visitor.ip)
    const { operator, isFirst } = await findInvitation(token, visitor)
    const storedId = isFirst ? null : operator.id
    const passkey = await passkeys.startRegistration(operator, visitor.origin, storedId)
    return { name: operator.name, passkey, totp: password.createTotpSetup(operator.name) }
  }

  /** Returns a session token and, for a password, the recovery codes. */
  async function setUp(token: string, choice: NewCredentials, visitor: Visitor) {
    await countAttempt(visitor.ip)
    const invitation = await findInvitation(token, visitor)
    const { operator, isFirst } = invitation
    const { store, codes, credential } = await verifyNewCredentials(invitation, choice, visitor)
    const session = await db.write(async (tx) => {
      if (isFirst) await accounts.addFirst(tx, operator)
      else await accounts.consumeLink(tx, token)
      await store(tx)
      return sessions.open(tx, operator.id, credential, visitor)
    })
    return { name: operator.name, session, recoveryCodes: codes }
  }

  /** The browser options for signing in with any operator's passkey. */
  async function startPasskeySignIn({ ip, origin }: Visitor) {
    await countAttempt(ip)
    return passkeys.startSignIn(null, origin)
  }

  /** Returns the name and the token of the new session. */
  async function signIn(
    proof: Proof,
    visitor: Visitor,
  ): Promise<{ name: string; session: string }> {
    await countAttempt(visitor.ip)
    const { operatorId, complete, credential } =
      'passkey' in proof
        ? await passkeys.verify(proof.passkey, visitor.origin, null)
        : {
            ...(await password.verify(proof.name, proof.password, proof.code, visitor.ip)),
            credential: PASSWORD,
          }
    return db.write(async (tx) => {
      await complete(tx)
      const operator = await accounts.find(tx, operatorId)
      if (!operator) throw operatorRemoved('invalid_credentials', operatorId)
      return {
        name: operator.name,
        session: await sessions.open(tx, operatorId, credential, visitor),
      }
    })
  }

  /** A stored name or `UNKNOWN`, never the text that was entered. Null after too many failures. */
  async function findAuditName(proof: Proof): Promise<string | null> {
    const id = 'passkey' in proof ? await passkeys.findOwner(proof.passkey.id) : null
    const operator =
      'passkey' in proof
        ? id && (await accounts.find(db.read, id))
        : await accounts.findByName(db.read, proof.name)
    if (operator) return operator.name
    const limit = { rule: UNKNOWN_FAILURE_LIMIT, key: '' }
    return (await db.write((tx) => limits.countIfAllowed(tx, limit))) ? UNKNOWN : null
  }

  function startProof({ operatorId }: OperatorSession, { origin }: Visitor) {
    return passkeys.startSignIn(operatorId, origin)
  }

  async function prove(
    { id, operatorId }: OperatorSession,
    proof: { passkey: AuthenticationResponseJSON } | { code: string },
    { origin }: Visitor,
  ) {
    if ('code' in proof) {
      await password.prove(operatorId, proof.code)
      return db.write((tx) => sessions.prove(tx, id, PASSWORD))
    }
    const { complete, credential } = await passkeys.verify(proof.passkey, origin, operatorId)
    await db.write(async (tx) => {
      await complete(tx)
      await sessions.prove(tx, id, credential)
    })
  }

  async function startAddPasskey({ operatorId }: OperatorSession, { origin }: Visitor) {
    return passkeys.startRegistration(await findById(operatorId), origin)
  }

  async function addPasskey(
    { id, operatorId }: OperatorSession,
    response: RegistrationResponseJSON,
    name: string,
    { origin }: Visitor,
  ) {
    const { store } = await passkeys.register(await findById(operatorId), response, origin, name)
    await db.write(async (tx) => {
      // Otherwise a passkey that is being verified would survive a reset of its operator.
      if (!(await sessions.isOpen(tx, id))) throw sessionEnded(operatorId)
      await store(tx)
    })
  }

  /**
   * Ends the sessions that the passkey opened, perhaps including this one. Returns how many. Throws `conflict` if it is
   * the only way to sign in.
   */
  async function removePasskey({ operatorId }: OperatorSession, id: string): Promise<number> {
    return db.write(async (tx) => {
      await passkeys.remove(tx, operatorId, id)
      const operator = await accounts.find(tx, operatorId)
      if (operator?.passwordHash || (await passkeys.countPasskeys(tx, operatorId)) > 0) {
        return sessions.endOpenedWith(tx, operatorId, id)
      }
      throw new AppError('conflict', 'This is your only way to sign in. Add another passkey first.')
    })
  }

  async function findById(operatorId: string): Promise<OperatorRow> {
    const operator = await accounts.find(db.read, operatorId)
    if (!operator) throw operatorRemoved('unauthenticated', operatorId)
    return operator
  }

  /** The operator of a link; the first one does not exist yet. */
  async function findInvitation(token: string, { isLocal }: Visitor): Promise<Invitation> {
    const first = firstLink.find(token)
    if (first === null || (await accounts.hasAny()))
      return { operator: await accounts.findByLink(db.read, token), isFirst: false }
    if (!isLocal) throw notLocal()
    return { operator: first, isFirst: true }
  }

  async function verifyNewCredentials(
    { operator, isFirst }: Invitation,
    choice: NewCredentials,
    { origin }: Visitor,
  ) {
    if ('password' in choice) {
      return { ...(await password.setUp(operator, choice)), credential: PASSWORD }
    }
    const { passkey, passkeyName } = choice
    const storedId = isFirst ? null : operator.id
    const made = await passkeys.register(operator, passkey, origin, passkeyName, storedId)
    return { ...made, codes: [] }
  }

  async function countAttempt(ip: string) {
    await limits.reserve([{ rule: PER_IP, key: ip }])
  }
}

function notLocal(): AppError {
  return new AppError(
    'forbidden',
    'This link works only in a browser on the machine that runs the server. For another browser, run "homeport operators add" there.',
  )
}

function sessionEnded(userId: string): AppError {
  return new AppError('unauthenticated', 'Your session ended. Sign in to continue.', {
    denial: { reason: 'session_ended', userId },
  })
}

function operatorRemoved(
  code: 'invalid_credentials' | 'unauthenticated',
  userId: string,
): AppError {
  return new AppError(code, 'This operator was removed.', {
    denial: { reason: 'account_deleted', userId },
  })
}
