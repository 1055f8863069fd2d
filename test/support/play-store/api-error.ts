/** A response that replaces a regular one. */
export type Fault = { status: number; reason?: string; headers?: Record<string, string> }

const MESSAGES: Record<string, string> = {
  applicationNotFound: 'No application was found for the given package name.',
  authError: 'Request had invalid authentication credentials.',
  invalid: 'Invalid Value',
  notFound: 'Not Found',
  productNotOwnedByUser: 'The product purchase is not owned by the user.',
  purchaseTokenDoesNotMatchProductId: 'The purchase token does not match the product ID.',
  purchaseTokenNoLongerValid: 'The subscription purchase is no longer available for query.',
  purchaseTokenNotFound: 'The purchase token was not found.',
}

/** An error in Google's format; without a reason, the body is empty. */
export function googleError({ status, reason, headers = {} }: Fault): Response {
  if (reason === undefined) return new Response(null, { status, headers })
  const message = MESSAGES[reason] ?? reason
  const errors = [{ message, domain: 'androidpublisher', reason }]
  return Response.json({ error: { code: status, message, errors } }, { status, headers })
}

/** Google's response for a path without a method. */
export function unknownMethod(): Response {
  const page = '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title><p>404. That is an error.'
  return new Response(page, {
    status: 404,
    headers: { 'content-type': 'text/html; charset=UTF-8' },
  })
}
