import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { eq } from 'drizzle-orm'
import { passkeyRefused, verifyPasskey } from '../../../lib/crypto/webauthn.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import { createChallenges } from './challenges.ts'
import { TIMEOUT_MS, toUserHandle } from './passkeys.ts'

const REFUSED_PER_IP: WindowRule = { name: 'passkey-address', max: 'failures', seconds: 5 * 60 }

/** Signs users in with a passkey, without a name or a two-factor code. */
export function createPasskeyLogin(deps: SignInContext) {
  const { db, accounts, oneTimeTokens, signIn, limits, relyingParty, recoveryKey, now } = deps
  const { passkeys } = db.tables
  const challenges = createChallenges({ key: recoveryKey, now })
  return { start, login }

  /** The options for any passkey of this app. */
  function start() {
    const { rpId } = relyingParty
    const userVerification = 'required' as const
    return { challenge: challenges.issue(), rpId, timeout: TIMEOUT_MS, userVerification }
  }

  /** Opens a session for the owner of the passkey. Throws `invalid_credentials`. */
  async function login(
    response: AuthenticationResponseJSON,
    { ip, device, baseUrl }: RequestOrigin,
    bearerId: string | null,
  ) {
    const { release } = await limits.reserve([{ rule: REFUSED_PER_IP, key: ip }])
    const [passkey] = await db.read.select().from(passkeys).where(eq(passkeys.id, response.id))
    if (passkey?.rpId !== relyingParty.rpId) throw passkeyRefused()
    const { userHandle } = response.response
    // WebAuthn level 3, §7.2: a device that names the user must name the owner.
    if (userHandle && userHandle !== toUserHandle(passkey.userId)) throw passkeyRefused()
    let challenge = ''
    let expiresAt: Date | null = null
    const counter = await verifyPasskey(response, passkey, {
      ...relyingParty,
      consumeChallenge: async (signed) => {
        challenge = signed
        expiresAt = challenges.readExpiry(signed)
        return expiresAt !== null
      },
    })
    const grant = await db.write(async (tx) => {
      if (expiresAt === null) throw passkeyRefused()
      const isFirstUse = await oneTimeTokens.markUsed(tx, 'passkey-sign-in', challenge, expiresAt)
      if (!isFirstUse) throw passkeyRefused()
      const [used] = await tx
        .update(passkeys)
        .set({ counter, lastUsedAt: now() })
        .where(eq(passkeys.id, passkey.id))
        .returning()
      // The passkey may have been removed while it was verified.
      if (!used) throw passkeyRefused()
      await release(tx)
      const user = await accounts.find(tx, used.userId)
      return signIn.openSessionFor(tx, user, device, bearerId)
    })
    return signIn.toSessionReply(grant, baseUrl)
  }
}
