import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { generateKeyPair, jwtVerify, SignJWT } from 'jose'

const ISSUER = 'node-stack'
const ACCESS_LIFE = '15m'
const SESSION_LIFE = 365 * 24 * 60 * 60 * 1000
/** How long a used token may be reused, in ms, because the phone may have lost the reply. */
const RETRY_WINDOW = 60_000

/** One session per device: an access token, and refresh tokens that are exchanged once each. */
export async function createSessions(db) {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const insertSession = db.prepare('INSERT INTO sessions VALUES (?, ?, ?)')
  const insertToken = db.prepare('INSERT INTO refresh_tokens VALUES (?, ?, NULL)')
  const findToken = db.prepare(
    `SELECT t.session_id, t.used_at, s.user_id, s.expires_at FROM refresh_tokens t
     JOIN sessions s ON s.id = t.session_id WHERE t.hash = ?`,
  )
  const markUsed = db.prepare('UPDATE refresh_tokens SET used_at = ? WHERE hash = ?')
  const endSession = db.prepare('DELETE FROM sessions WHERE id = ?')
  const findSession = db.prepare(
    `SELECT u.*, s.expires_at FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.id = ? AND s.user_id = ?`,
  )

  const addSession = db.transaction((sessionId, userId, token) => {
    insertSession.run(sessionId, userId, Date.now() + SESSION_LIFE)
    insertToken.run(digest(token), sessionId)
  })
  const exchange = db.transaction((hash, successor) => {
    const found = findToken.get(hash)
    const now = Date.now()
    if (!found || found.expires_at <= now) return null
    if (found.used_at !== null && now - found.used_at > RETRY_WINDOW) {
      endSession.run(found.session_id)
      return null
    }
    if (found.used_at === null) markUsed.run(now, hash)
    insertToken.run(digest(successor), found.session_id)
    return found
  })
  return { open, refresh, check }

  async function open(userId) {
    const sessionId = randomUUID()
    const refreshToken = mintToken()
    addSession.immediate(sessionId, userId, refreshToken)
    return { accessToken: await mintAccess(userId, sessionId), refreshToken }
  }

  /** The next pair of tokens and their user, or null. */
  async function refresh(token) {
    const refreshToken = mintToken()
    const found = exchange.immediate(digest(token), refreshToken)
    if (found === null) return null
    const accessToken = await mintAccess(found.user_id, found.session_id)
    return { userId: found.user_id, accessToken, refreshToken }
  }

  /** The user of an access token with an open session, or null. */
  async function check(accessToken) {
    try {
      const { payload } = await jwtVerify(accessToken, publicKey, {
        algorithms: ['ES256'],
        issuer: ISSUER,
        typ: 'at+jwt',
      })
      const user = findSession.get(payload.sid, payload.sub)
      return user && user.expires_at > Date.now() ? user : null
    } catch {
      return null
    }
  }

  function mintAccess(userId, sessionId) {
    return new SignJWT({ sid: sessionId })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
      .setIssuer(ISSUER)
      .setSubject(userId)
      .setIssuedAt()
      .setExpirationTime(ACCESS_LIFE)
      .setJti(randomUUID())
      .sign(privateKey)
  }
}

function mintToken() {
  return randomBytes(32).toString('base64url')
}

function digest(token) {
  return createHash('sha256').update(token).digest()
}
