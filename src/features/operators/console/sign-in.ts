import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { Elysia } from 'elysia'
import { AppError } from '../../../lib/errors.ts'
import type { ConsoleContext } from '../../../platform/feature.ts'
import { json } from '../../../platform/http/body/body.ts'
import {
  deletedCookies,
  hasTestCookie,
  sessionCookie,
  testCookie,
} from '../../../platform/http/console-cookie.ts'
import {
  allow,
  CONSOLE_API,
  findOperator,
  findVisitor,
} from '../../../platform/http/console-guard.ts'
import { data } from '../../../platform/http/replies/envelope.ts'
import { requestInfo } from '../../../platform/http/request/request-log.ts'
import { AddPasskey, IdParam, PasskeyParam, Proof, SetUp, SignIn, Token } from '../model.ts'
import type { Operators } from '../operators.ts'
import type { NewCredentials } from '../sign-in.ts'

type SignInConsoleDeps = {
  operators: Operators
  appName: string
  /** The command that creates the first operator. */
  firstCommand: (isLocal: boolean) => string
  baseUrl: string | null
  now: () => Date
} & Pick<ConsoleContext, 'record' | 'isSignedIn'>

const TEST_HOST =
  /(?:^|[.-])(?:staging|stage|test|testing|dev|qa|beta|preview|sandbox)(?=[.-]|\d|$)/

/** Names the environment by the host of BASE_URL, for the header of the console. */
function nameEnvironment(baseUrl: string | null): 'Production' | 'Test' | 'Local' {
  const host = baseUrl === null ? 'localhost' : new URL(baseUrl).hostname
  if (/^(?:.*\.)?localhost$|^127\.|^\[::1\]$|\.local$/.test(host)) return 'Local'
  return TEST_HOST.test(host) ? 'Test' : 'Production'
}

/** Sign-in to the console, and the operators' own sessions and passkeys. */
export function signInConsole(deps: SignInConsoleDeps) {
  const { operators, appName, baseUrl, firstCommand, isSignedIn, record, now } = deps
  const { accounts, audit, demo, passkeys, sessions, signIn } = operators
  return new Elysia({ name: 'console-sign-in', prefix: CONSOLE_API })
    .get(
      '/login/state',
      async ({ request }) => {
        const hasOperators = await accounts.hasAny()
        const isDemo = demo.isEnabled()
        return data({
          appName,
          environment: nameEnvironment(baseUrl),
          hasOperators,
          isDemo,
          isSignedIn: await isSignedIn(request),
          firstCommand: hasOperators ? null : firstCommand(findVisitor(request).isLocal),
        })
      },
      allow('anyone'),
    )
    .post(
      '/login/cookies',
      ({ request, set }) => {
        // The first request sets the cookie, the second shows whether the browser has kept it.
        set.headers['set-cookie'] = testCookie(request)
        return data({ areKept: hasTestCookie(request) })
      },
      allow('anyone'),
    )
    .post(
      '/login/link',
      async ({ request, body }) => data(await signIn.startSetUp(body.token, findVisitor(request))),
      { ...json(Token), ...allow('anyone') },
    )
    .post(
      '/login/set-up',
      async ({ request, body, set }) => {
        const visitor = findVisitor(request)
        const { token, ...choice } = body
        const { name, session, recoveryCodes } = await signIn.setUp(
          token,
          choice as NewCredentials,
          visitor,
        )
        set.headers['set-cookie'] = sessionCookie(request, session)
        await logSignIn(request, name, 'operators.set-up')
        return data({ name, recoveryCodes })
      },
      { ...json(SetUp), ...allow('anyone') },
    )
    .post(
      '/login/demo',
      async ({ request, body, set }) => {
        const { name, session } = await demo.signIn(body.token, findVisitor(request))
        set.headers['set-cookie'] = sessionCookie(request, session)
        await logSignIn(request, name, 'operators.sign-in', { with: 'demo link' })
        return data({ name })
      },
      { ...json(Token), ...allow('anyone') },
    )
    .post(
      '/login/passkey',
      async ({ request }) => data(await signIn.startPasskeySignIn(findVisitor(request))),
      allow('anyone'),
    )
    .post(
      '/login/sign-in',
      async ({ request, body, set }) => {
        const proof = toProof(body)
        const signedIn = await signIn.signIn(proof, findVisitor(request)).catch(async (error) => {
          const failedName = isWrongProof(error) ? await signIn.findAuditName(proof) : null
          if (failedName)
            await logSignIn(request, failedName, 'operators.sign-in-failed', findMethod(proof))
          throw error
        })
        const { name, session } = signedIn
        set.headers['set-cookie'] = sessionCookie(request, session)
        await logSignIn(request, name, 'operators.sign-in', findMethod(proof))
        return data({ name })
      },
      { ...json(SignIn), ...allow('anyone') },
    )
    .get(
      '/me',
      async ({ request }) => {
        const { id, operatorId, name, role, provenAt } = findOperator(request)
        return data({
          name,
          role,
          provenAt: provenAt.toISOString(),
          now: now().toISOString(),
          session: id,
          sessions: await sessions.list(operatorId),
          passkeys: await passkeys.list(operatorId),
        })
      },
      allow('self'),
    )
    .post(
      '/me/sign-out',
      async ({ request, set }) => {
        const { id, operatorId, name } = findOperator(request)
        await sessions.end(operatorId, id)
        await logSignIn(request, name, 'operators.sign-out')
        set.headers['set-cookie'] = deletedCookies(request)
        return data(null)
      },
      allow('self'),
    )
    .post(
      '/me/proof/passkey',
      async ({ request }) =>
        data(await signIn.startProof(findOperator(request), findVisitor(request))),
      allow('self'),
    )
    .post(
      '/me/proof',
      async ({ request, body }) => {
        const operator = findOperator(request)
        const proof = toProof(body)
        await signIn.prove(operator, proof, findVisitor(request)).catch(async (error) => {
          if (isWrongProof(error)) {
            await logSignIn(request, operator.name, 'operators.proof-failed', findMethod(proof))
          }
          throw error
        })
        await logSignIn(request, operator.name, 'operators.proof', findMethod(proof))
        return data(null)
      },
      { ...json(Proof), ...allow('self') },
    )
    .post(
      '/me/sessions/:id/end',
      async ({ request, params }) => {
        const { device, ip } = await sessions.end(findOperator(request).operatorId, params.id)
        await record(request, { action: 'operators.end-session', before: { device, ip } })
        return data(null)
      },
      { params: IdParam, ...allow('self') },
    )
    .post(
      '/me/passkeys/options',
      async ({ request }) =>
        data(await signIn.startAddPasskey(findOperator(request), findVisitor(request))),
      allow('self', 'stepUp'),
    )
    .post(
      '/me/passkeys',
      async ({ request, body }) => {
        const { passkey, passkeyName } = body
        const response = passkey as RegistrationResponseJSON
        await signIn.addPasskey(findOperator(request), response, passkeyName, findVisitor(request))
        await record(request, { action: 'operators.add-passkey', after: { passkeyName } })
        return data(null)
      },
      { ...json(AddPasskey), ...allow('self', 'stepUp') },
    )
    .post(
      '/me/passkeys/:id/remove',
      async ({ request, params }) => {
        const sessionsEnded = await signIn.removePasskey(findOperator(request), params.id)
        const after = { sessionsEnded }
        await record(request, { action: 'operators.remove-passkey', target: params.id, after })
        return data(null)
      },
      { params: PasskeyParam, ...allow('self', 'stepUp') },
    )

  async function logSignIn(
    request: Request,
    operator: string,
    action: string,
    method: object = {},
  ) {
    const { ip, device } = findVisitor(request)
    const { id } = requestInfo(request)
    await audit.record({
      operator,
      origin: ip,
      action,
      after: { device, ...method },
      requestId: id,
    })
  }
}

/** Narrows the type of a body: the schema has checked every passkey field that is used. */
function toProof<Body extends object>(body: Body) {
  return body as Exclude<Body, { passkey: unknown }> | { passkey: AuthenticationResponseJSON }
}

/** The sign-in method, for the audit log. */
function findMethod(proof: object) {
  return { with: ['passkey', 'password'].find((method) => method in proof) ?? 'code' }
}

/** Whether the credentials were wrong, as opposed to a rate limit or a busy server. */
function isWrongProof(error: unknown): boolean {
  return error instanceof AppError && error.code === 'invalid_credentials'
}
