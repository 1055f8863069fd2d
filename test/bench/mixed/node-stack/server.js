import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { LogController } from 'fastify'
import { createBilling } from './billing.js'
import { openDatabase } from './database.js'
import { hash, verify } from './passwords.js'
import { createPictures } from './pictures.js'
import { createSessions } from './sessions.js'

/** The part of Homeport's API that the bench needs: `node server.js <port> <folder> <webhook token>`. */
const [port, folder, webhookToken] = process.argv.slice(2)
const UPLOAD_LIMIT = 25 * 1024 * 1024

const db = openDatabase(join(folder, 'app.db'))
const sessions = await createSessions(db)
const pictures = await createPictures(db, join(folder, 'pictures'))
const billing = createBilling(db)
const insertUser = db.prepare("INSERT INTO users VALUES (?, ?, ?, '', 'en', 'utc', 'usd', ?)")
const findByEmail = db.prepare('SELECT * FROM users WHERE email = ?')
const findById = db.prepare('SELECT * FROM users WHERE id = ?')
const expectedToken = digest(`Bearer ${webhookToken}`)

const app = Fastify({
  logger: true,
  // The onResponse hook logs one line per request.
  logController: new LogController({ disableRequestLogging: true }),
  genReqId: () => randomUUID(),
  bodyLimit: UPLOAD_LIMIT,
})
app.addContentTypeParser('image/jpeg', { parseAs: 'buffer' }, (_request, body, done) =>
  done(null, body),
)
app.addHook('onRequest', async (request, reply) => {
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  })
})
app.addHook('onResponse', async (request, reply) => {
  const { method, url } = request
  request.log.info({ method, url, status: reply.statusCode, ms: reply.elapsedTime })
})

/** Public replies are built once: `content.json` has the body of each path. */
for (const [path, body] of Object.entries(JSON.parse(readFileSync(join(folder, 'content.json'))))) {
  const bytes = Buffer.from(body)
  const etag = `"${digest(body).toString('base64url').slice(0, 22)}"`
  app.get(path, (request, reply) => {
    reply.headers({ etag, 'cache-control': 'public, max-age=60' })
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.type('application/json').send(bytes)
  })
}

app.get('/health', () => ({ code: 'ok' }))

app.post('/api/auth/register/v1', async (request) => {
  const { email, password } = request.body
  const id = randomUUID()
  insertUser.run(id, email.toLowerCase(), await hash(password), Date.now())
  return sessionReply(findById.get(id), await sessions.open(id))
})

app.post('/api/auth/login/v1', async (request, reply) => {
  const { email, password } = request.body
  const user = findByEmail.get(email.toLowerCase())
  if (!(await verify(password, user?.password_hash))) return refuse(reply)
  return sessionReply(user, await sessions.open(user.id))
})

app.post('/api/auth/refresh/v1', async (request, reply) => {
  const grant = await sessions.refresh(request.body.refreshToken)
  return grant === null ? refuse(reply) : sessionReply(findById.get(grant.userId), grant)
})

app.get('/api/user/profile/v1', async (request, reply) => {
  const user = await authenticate(request)
  return user ? { code: 'ok', response: profileOf(user) } : refuse(reply)
})

app.get('/api/user/subscription/v1', async (request, reply) => {
  const user = await authenticate(request)
  return user ? { code: 'ok', response: billing.read(user.id) } : refuse(reply)
})

app.post('/api/webhooks/billing/v1', (request, reply) => {
  const token = digest(request.headers.authorization ?? '')
  if (!timingSafeEqual(token, expectedToken)) return refuse(reply)
  const code = billing.receive(request.body.event, JSON.stringify(request.body))
  return reply.send({ code, message: 'The event is recorded.' })
})

app.post('/api/user/attachments/v1', async (request, reply) => {
  const user = await authenticate(request)
  if (!user) return refuse(reply)
  const key = await pictures.store(user.id, request.body)
  const url = `http://${request.host}/files/${key}`
  const record = { key, fileName: 'photo.webp', itemType: 'image/webp', url }
  return { code: 'ok', response: [record] }
})

app.get('/files/:key', (request, reply) => {
  const found = pictures.read(request.params.key)
  if (!found) return reply.code(404).send({ code: 'not_found' })
  return reply
    .headers({
      'content-type': 'image/webp',
      'content-length': found.size,
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${request.params.key}"`,
    })
    .send(found.stream)
})

process.on('SIGTERM', async () => {
  await app.close()
  db.close()
})
await app.listen({ port: Number(port), host: '127.0.0.1' })

/** The user of an open session, or null. */
async function authenticate(request) {
  const header = request.headers.authorization ?? ''
  return header.startsWith('Bearer ') ? sessions.check(header.slice('Bearer '.length)) : null
}

function sessionReply(user, { accessToken, refreshToken }) {
  const tokens = { accessToken, refreshToken, tokenType: 'Bearer', expiresIn: 900 }
  return { code: 'ok', response: { ...tokens, user: profileOf(user) } }
}

function profileOf({ id, email, name, locale, timezone, currency }) {
  return {
    _id: id,
    loginType: 'email',
    email,
    emailVerified: false,
    profile: { name, locale, timezone, currency, avatarUrl: null },
    twoFactor: { enabled: false, methods: [], recoveryCodesLeft: 0 },
    onboardingCompleted: false,
  }
}

function refuse(reply) {
  return reply.code(401).send({ code: 'unauthenticated', message: 'Sign in.' })
}

function digest(text) {
  return createHash('sha256').update(text).digest()
}
