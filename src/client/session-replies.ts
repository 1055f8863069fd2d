import { ApiError, clientError } from './api-error.ts'
import type { Envelope } from './caller.ts'
import type { Session } from './models.ts'
import type { SignInResult } from './users.ts'

/** Returns the session or challenge in the response to a sign-in. Throws `reply_invalid` for anything else. */
export function readSession({ response }: Envelope): SignInResult {
  const { accessToken, refreshToken, expiresIn, user, challengeToken } = (response ?? {}) as Record<
    string,
    unknown
  >
  const isSession =
    typeof accessToken === 'string' &&
    typeof refreshToken === 'string' &&
    typeof expiresIn === 'number' &&
    typeof (user as Session['user'] | undefined)?._id === 'string'
  if (isSession || typeof challengeToken === 'string') return response as SignInResult
  const message = "The server's response has no session."
  throw new ApiError({ status: 200, code: 'reply_invalid', message })
}

/** Whether the server itself says that the session has ended. */
export function isSessionEnded(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unauthenticated' && error.isGenuine
}

/** Whether the server itself refuses the access token. */
export function isTokenRefused(error: unknown): boolean {
  return (
    isSessionEnded(error) ||
    (error instanceof ApiError && error.isGenuine && error.code === 'token_expired')
  )
}

export function sessionEnded(cause: unknown): ApiError {
  const message =
    "The session on this device has ended, so the guest's data cannot move to the account. Try again to continue without that data."
  return new ApiError({ status: 401, code: 'session_ended', message, cause })
}

export function notSignedIn(): ApiError {
  const message = 'No user is signed in.'
  return new ApiError({ status: 401, code: 'unauthenticated', message, isGenuine: true })
}

export function userChanged(): ApiError {
  return clientError('conflict', 'Another user has since signed in.')
}

export function tokenLostError(): ApiError {
  const message =
    "The account was created without the guest's data: an intermediary removed the token."
  return clientError('token_lost', message)
}

export function alreadySignedInError(): ApiError {
  return clientError('conflict', 'A user is signed in: sign out first.')
}
