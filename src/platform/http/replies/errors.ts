import type { ValueError } from '@sinclair/typebox/errors'
import { type AnyElysia, Elysia, ValidationError } from 'elysia'
import { AppError, invalidField, invalidFields, notFound, STATUS } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log/log.ts'
import { toErrorDetails } from '../../../lib/validation.ts'
import { asStorageError } from '../../db/storage-error.ts'
import type { Translator } from '../language/translator.ts'
import { sendPage } from '../pages/page.ts'
import { requestInfo } from '../request/request-log.ts'
import { readPath } from '../request/request-url.ts'

/** RFC 6750, section 3, requires a parameter, and Apple's open-source Foundation crashes without one. */
const CHALLENGE = 'Bearer realm="homeport"'

type ErrorsDeps = {
  log: Log
  allowedMethods: AllowedMethods
  translator: Translator
  appName: string
}

/** Routes whose responses are always pages. */
const PAGES = /^\/(auth|account)\//
/** Routes that respond with JSON, even to a browser that opens one of them. */
const INTERFACES = /^\/(console\/)?api\//

/** Turns thrown errors into the envelope, or a page for browsers. Add it first, so that it covers every route. */
export function errors({ log, allowedMethods, translator, appName }: ErrorsDeps) {
  return new Elysia({ name: 'errors' }).onError(
    { as: 'global' },
    ({ error, code, request, set }) => {
      const failure = toAppError(error, code, request, allowedMethods)
      const info = requestInfo(request)
      const { id: requestId } = info
      info.failure = failure.code
      if (failure.denial) info.denial = failure.denial
      if (STATUS[failure.code] >= 500 && (failure.cause || failure.code === 'internal_error')) {
        log.error({ requestId, err: withoutReply(error) }, 'request failed')
      }
      set.status = STATUS[failure.code]
      set.headers['cache-control'] = 'no-store'
      delete set.headers['etag']
      if (set.status === 408) set.headers['connection'] = 'close'
      if (set.status === 401) set.headers['www-authenticate'] = CHALLENGE
      // https://www.rfc-editor.org/rfc/rfc5789#section-2.2
      if (set.status === 415 && request.method === 'PATCH') {
        set.headers['accept-patch'] = 'application/json'
      }
      if (failure.code === 'method_not_allowed') {
        set.headers['allow'] = allowedMethods(readPath(request)).join(', ')
      }
      if (failure.retryAfterSeconds !== undefined) {
        set.headers['retry-after'] = String(failure.retryAfterSeconds)
      }
      const { message, details = [] } = failure
      if (isForBrowser(request)) {
        const { language, translated } = translator.translateAll([message], request)
        const page = { title: translated[0] ?? message, content: '', language, appName }
        return sendPage(set, { ...page, footer: Bun.escapeHTML(appName) }, STATUS[failure.code])
      }
      const sentences = [message, ...details.map((detail) => detail.message)]
      const { language, translated } = translator.translateAll(sentences, request)
      set.headers['content-language'] = language
      return failureBody(failure, requestId, translated)
    },
  )
}

function isForBrowser(request: Request): boolean {
  const path = readPath(request)
  if (PAGES.test(path)) return true
  return !INTERFACES.test(path) && (request.headers.get('accept')?.includes('text/html') ?? false)
}

/** The message of a response error contains the whole response, with tokens and addresses: names only the field. */
function withoutReply(error: unknown): unknown {
  if (!(error instanceof ValidationError)) return error
  const { path, message } = error.valueError ?? {}
  return new Error(`the response does not match its schema at ${path}: ${message}`)
}

type AllowedMethods = (path: string) => string[]

export function failureBody(
  { code, message, details }: AppError,
  requestId: string,
  [text = message, ...detailTexts]: string[] = [],
) {
  const translated = details?.map(({ path, message }, at) => ({
    path,
    message: detailTexts[at] ?? message,
  }))
  return { code, message: text, requestId, ...(translated ? { details: translated } : {}) }
}

export function internalError(): AppError {
  return new AppError('internal_error', 'Internal server error. Try again later.')
}

function toAppError(
  error: unknown,
  code: unknown,
  request: Request,
  allowedMethods: AllowedMethods,
): AppError {
  if (error instanceof AppError) return error
  if (code === 'NOT_FOUND') {
    if (allowedMethods(readPath(request)).length === 0) return notFound()
    return new AppError('method_not_allowed', `This path does not support ${request.method}.`)
  }
  if (error instanceof ValidationError && error.type !== 'response') {
    // A path parameter that cannot be decoded matches nothing.
    return error.type === 'params' ? notFound() : invalid(error, request)
  }
  if (code === 'PARSE') {
    // Elysia wraps a parser's error.
    const { cause } = error as Error
    if (cause instanceof AppError) return cause
    return asStorageError(cause) ?? malformed('The body could not be parsed.')
  }
  if (request.signal.aborted) return malformed('The request was aborted.')
  return asStorageError(error) ?? internalError()
}

export function malformed(message: string): AppError {
  return new AppError('malformed_request', message)
}

/** Elysia checks query numbers last and without their names, so the value is used to find the name. */
function outOfRange({ validator, value }: ValidationError, { url }: Request): AppError {
  const { minimum, maximum } = validator as { minimum?: number; maximum?: number }
  const query = new URL(url, 'http://localhost').searchParams
  const [path = 'query'] = [...query].find(([, text]) => Number(text) === Number(value)) ?? []
  const message = `must be a whole number from ${minimum ?? 0} to ${maximum ?? Number.MAX_SAFE_INTEGER}`
  return invalidField(path.slice(0, 100), message)
}

/** Names the invalid fields and what they must be, never their values, which may be passwords. */
function invalid(error: ValidationError, request: Request): AppError {
  if (error.type === 'property') return outOfRange(error, request)
  const { Errors } = error.validator as { Errors?: (value: unknown) => Iterable<ValueError> }
  const errors = Errors?.call(error.validator, error.value) ?? []
  return invalidFields(toErrorDetails(errors, (path) => path || error.type))
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** For 405 and `Allow`; none for an unknown path. */
export function findAllowedMethods(app: AnyElysia, path: string): string[] {
  const { http } = app.router
  const declared = app.routes.filter((route) => route.path === path).map(({ method }) => method)
  const supports = (method: string) => declared.includes(method) || http.find(method, path) !== null
  return METHODS.filter((method) => supports(method) || (method === 'HEAD' && supports('GET')))
}
